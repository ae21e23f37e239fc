#!/bin/bash
sed -i -e 's/^workers *=.*/workers = 4/' -e 's/^mode *=.*/mode = fast/' /etc/shop.conf
