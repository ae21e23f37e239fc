/** Where PyTorch is, for tests that need it. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** The folder of the PyTorch trainer, for `PYTHONPATH`. */
export const trainerFolder = join(import.meta.dirname, '..', '..', 'trainers', 'pytorch')

/** A Python that has PyTorch: the one that `PERDURE_TORCH_PYTHON` names, or `python3`; undefined where neither has. */
export function pythonWithTorch(): string | undefined {
  const python = process.env.PERDURE_TORCH_PYTHON ?? 'python3'
  const found = spawnSync(python, ['-c', 'import torch'], { stdio: 'ignore' }).status === 0
  if (!found && process.env.PERDURE_REQUIRE_TORCH === '1')
    throw new Error(`${python} has no PyTorch, and PERDURE_REQUIRE_TORCH says that it must`)
  return found ? python : undefined
}
