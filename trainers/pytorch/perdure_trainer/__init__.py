"""The trainer of Perdure in PyTorch. trainers/contract.md is the contract that it keeps."""
