"""Networks as ONNX files, which run in browsers and other languages: as agents, and written from agents."""
