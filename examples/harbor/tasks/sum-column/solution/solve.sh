#!/bin/bash
awk -F, '$2 == "pear" { sum += $3 } END { print sum }' /app/orders.csv > /app/sum.txt
