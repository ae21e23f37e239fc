"""The trainer of Perdure in PyTorch. docs/trainers.md is the contract that it keeps."""
