#!/bin/bash
member() { tar -xzOf "$ARCHIVE" "./$1"; }
if [ "$(member a)" = alpha ] && [ "$(member b)" = beta ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
