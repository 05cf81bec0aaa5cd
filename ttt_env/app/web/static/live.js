export function refigure() {}
