#!/bin/bash
for number in 1 2 3 4 5; do echo $((number * number)); done > /app/squares.txt
