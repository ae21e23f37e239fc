/**
 * Speeds of all environments.
 *
 * Invariants
 * - Each task's benchmark is a file of `environment/`; a task without one is not measured.
 */
import { globSync } from 'node:fs'
import path from 'node:path'
import type { Figure } from './figure.ts'

/** Runs the benchmarks of all tasks, one after the other. */
export async function bench(): Promise<Figure[]> {
  const figures: Figure[] = []
  const folder = path.join(import.meta.dirname, 'environment')
  for (const file of globSync('*.ts', { cwd: folder }).sort()) {
    const task = (await import(path.join(folder, file))) as { bench(): Promise<Figure[]> }
    figures.push(...(await task.bench()))
  }
  return figures
}
