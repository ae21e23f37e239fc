#!/bin/bash
if diff -q /etc/shop.conf /tests/wanted.conf; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
