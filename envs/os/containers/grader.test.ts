import { expect, test } from 'vitest'
import type { OsItem } from '../item.ts'
import { drawsChance, onlyCompares } from './grader.ts'

const python = (code: string) => ({ language: 'python', code }) as const

test('scripts that only compare their arguments are distinguished from scripts that look', () => {
  expect(onlyCompares(python('from sys import argv\nexit(int(argv[1]) != int(argv[2]))'))).toBe(true)
  expect(onlyCompares(python('import re\nimport sys\nsys.exit(0)'))).toBe(true)
  for (const code of [
    'import os\nexit(0)',
    'import sys, os',
    'from subprocess import run',
    'exit(open("/root/x").read() != "1")',
    '__import__("os").listdir("/")',
    'import importlib',
  ])
    expect(onlyCompares(python(code))).toBe(false)
  expect(onlyCompares({ language: 'bash', code: 'exit 0' })).toBe(false)
})

test('machines that cannot be made again are recognised by their scripts', () => {
  const item = (code: string) => ({ init: [{ language: 'bash', code }] }) as unknown as OsItem
  expect(drawsChance(item('echo $RANDOM > x'))).toBe(false)
  for (const code of ['seq 9 | shuf', 'head -c 9 /dev/urandom', 'echo $$', 'python3 -c "import random"'])
    expect(drawsChance(item(code))).toBe(true)
})
