/**
 * Speeds of all environments.
 *
 * Invariants
 * - Each task's benchmark stands in its folder; what is not there is not measured.
 */
import { globSync } from 'node:fs'
import path from 'node:path'
import type { Figure } from './figure.ts'

/** Runs the benchmarks of all tasks, one after the other. */
export async function bench(): Promise<Figure[]> {
  const figures: Figure[] = []
  const envs = path.resolve(import.meta.dirname, '../src/envs')
  for (const file of globSync('*/speed.bench.ts', { cwd: envs }).sort()) {
    const task = (await import(path.join(envs, file))) as { bench(): Promise<Figure[]> }
    figures.push(...(await task.bench()))
  }
  return figures
}
