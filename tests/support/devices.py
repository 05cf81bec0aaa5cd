"""The devices of PyTorch that the tests run on: the CPU, and a GPU if there is one."""

try:
    import torch
except ImportError:
    DEVICES = ["cpu"]
else:
    DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
DEVICE = DEVICES[-1]
