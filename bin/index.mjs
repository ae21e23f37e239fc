/**
 * The package's entry for programs.
 *
 * Invariants
 * - In a checkout the sources are imported; from the published package what was built from them.
 * - It exports what `index.ts` exports, by name.
 */
import { existsSync } from 'node:fs'

const source = new URL('../index.ts', import.meta.url)
const entry = await import(
  existsSync(source) ? source.href : new URL('../dist/index.js', import.meta.url).href
)

export const {
  AskedModelFault,
  algorithms,
  answeredBy,
  builtInEnvironment,
  ConfigFault,
  defineEnvironment,
  EngineFault,
  EnvironmentFault,
  foreignEnvironment,
  isUpdateMetrics,
  loadConfig,
  mcpEnvironment,
  resolveConfig,
  resume,
  SessionFault,
  TrainerFault,
  train,
  win,
  z,
} = entry
