"""All compiled code, and the arrays (`sets`) and codes (`codes`) it reads; all but these two import numba."""
