"""All compiled code, and the arrays (`sets`) and numbers (`codes`) that it reads; the others import numba."""
