/** Faults of values that only a look at the thing they name finds wrong: a task, a module, a server. */
import { ConfigFault } from '../../config/files/fault.ts'

/** @param allowed ready to follow "expected" */
export function badValue(key: string, value: unknown, allowed: string, cause?: unknown): ConfigFault {
  const text = JSON.stringify(value)
  const message = `\`${key}\` is ${text}: expected ${allowed}`
  return new ConfigFault('bad_value', [{ key, value: text, allowed, where: '', message }], { cause })
}
