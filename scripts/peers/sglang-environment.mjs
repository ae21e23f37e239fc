/**
 * SGLang's server on the processor, in an environment of its own in the user's cache, for the optional tests of its adapter
 * (`npm test -- --vllm`): 0.3 GB over vLLM's, whose PyTorch it uses.
 *
 * SGLang is made for graphics processors, and its build for processors is on no index of packages. So a module of this file replaces the
 * missing parts; the server, the scheduler, the cache, the adapters and the sampler are SGLang's own.
 *
 * Invariants
 * - SGLang itself is installed last, so that an environment which has it has all that it needs.
 * - Nothing outside of that folder is changed; vLLM's environment is read.
 * - No result is made up: a replacement of a module fails when it is used, and the one kernel that is written here is a published hash.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { done, tried, vllmPython } from './vllm-environment.mjs'

const version = '0.5.23'
const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'perdure-sglang')
const python = join(folder, 'bin', 'python')
/** Packages that its server imports and vLLM's environment lacks. */
const needs = ['orjson', 'ipython', 'gguf', 'soundfile']

/**
 * Kernels and pictures are imported and never used. Pinned memory needs a graphics processor. Seeds count with deterministic inference
 * alone, which is refused for this attention because its sums depend on the batch: they move a logprob by rounding, and no seed.
 */
const standIn = `
import importlib.abc
import importlib.machinery
import sys
import types


class Absent(types.ModuleType):
    __path__, __version__ = [], '0'

    def __getattr__(self, name):
        return absent(self.__name__, name)


class Names(type):
    def __getattr__(cls, name):
        return absent(cls.__module__, f'{cls.__name__}.{name}')


def absent(module, name):
    if name.startswith('__'):
        raise AttributeError(name)
    return Names(name, (), {'__init__': refuse, '__module__': module})


def refuse(self, *_, **__):
    raise NotImplementedError(f'{type(self).__module__}.{type(self).__name__} is not installed')


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.split('.')[0] in ('sgl_kernel', 'torchvision'):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Absent(spec.name)

    def exec_module(self, module):
        pass


def plug_in():
    global kernels
    import torch
    from sglang.srt import batch_invariant_ops, server_args

    for name in ('arange', 'tensor', 'zeros'):
        setattr(torch, name, unpinned(getattr(torch, name)))
    torch.Tensor.pin_memory = lambda tensor, *_: tensor
    kernels = torch.library.Library('sgl_kernel', 'DEF')
    kernels.define('murmur_hash32_cpu(Tensor seed, Tensor positions, Tensor columns) -> Tensor')
    kernels.impl('murmur_hash32_cpu', murmur_hash, 'CPU')
    server_args.DETERMINISTIC_ATTENTION_BACKEND_CHOICES.append('torch_native')
    server_args.RADIX_SUPPORTED_DETERMINISTIC_ATTENTION_BACKEND.append('torch_native')
    batch_invariant_ops.enable_batch_invariant_mode = lambda: None


def unpinned(make):
    return lambda *values, pin_memory=False, **named: make(*values, **named)


def murmur_hash(seed, positions, columns):
    import torch

    low = 2**32 - 1
    seed, positions = seed.to(torch.int64)[:, None], positions.to(torch.int64)[:, None]
    hashed = torch.zeros_like(seed)
    for key in (seed & low, seed >> 32 & low, positions & low, columns.to(torch.int64)[None]):
        key = key * 0xCC9E2D51 & low
        key = (key << 15 | key >> 17) & low
        hashed = hashed ^ key * 0x1B873593 & low
        hashed = (hashed << 13 | hashed >> 19) & low
        hashed = hashed * 5 + 0xE6546B64 & low
    hashed = hashed ^ 16
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & low
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & low
    return hashed ^ hashed >> 16


sys.meta_path.append(Finder())
`

/** The environment's Python, which is installed where it is missing. @throws Error with what could not be done */
export function sglangPython() {
  const vllm = vllmPython()
  if (!hasSglang()) {
    console.log(`SGLang ${version} is installed into ${folder} (0.3 GB, a minute)`)
    done(vllm, ['-m', 'venv', folder])
    writeFileSync(join(packagesOf(python), 'vllm.pth'), `${packagesOf(vllm)}\n`)
    pip(...needs)
    pip('--no-deps', `sglang==${version}`)
  }
  writeStandIn(packagesOf(python))
  return python
}

function hasSglang() {
  const look = `import importlib.metadata as m; assert m.version('sglang') == '${version}'`
  return tried(python, ['-c', look], 'ignore').status === 0
}

/** Python reads a `.pth` when it starts, SGLang its plugins before it does anything. */
function writeStandIn(packages) {
  const about = join(packages, 'sglang_on_cpu-1.dist-info')
  mkdirSync(about, { recursive: true })
  writeFileSync(join(about, 'METADATA'), 'Metadata-Version: 2.1\nName: sglang-on-cpu\nVersion: 1\n')
  writeFileSync(join(about, 'entry_points.txt'), '[sglang.srt.plugins]\ncpu = sglang_on_cpu:plug_in\n')
  writeFileSync(join(packages, 'sglang_on_cpu.py'), standIn)
  writeFileSync(join(packages, 'sglang_on_cpu.pth'), 'import sglang_on_cpu\n')
}

function packagesOf(environment) {
  return done(environment, ['-c', "import sysconfig; print(sysconfig.get_path('purelib'))"]).trim()
}

function pip(...words) {
  done(python, ['-m', 'pip', 'install', '--quiet', ...words])
}
