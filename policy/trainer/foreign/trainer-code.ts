/**
 * The code of the trainer and the processor that rounds for it: beside the request, the bytes of a training depend on them.
 *
 * Invariants
 * - Code that differs in one byte has another name, in a checkout and as built alike.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { arch, cpus, platform } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '../../../machine/files/folder.ts'

/** Rooms whose code trains. */
const rooms = ['policy', 'learning', 'identity'] as const

let known: Promise<string> | undefined

/** A name for both; the code is read once per process. */
export function trainerCode(): Promise<string> {
  known ??= nameOfTraining()
  return known
}

/** The versions of dependencies are in `package.json`. */
async function nameOfTraining(): Promise<string> {
  const code = await codeOf(rooms)
  const processor = [cpus()[0]?.model ?? '', arch(), platform(), process.versions.v8]
  return createHash('sha256')
    .update(JSON.stringify([code, ...processor]))
    .digest('hex')
}

/** A name for the code of folders, and for the versions of what it depends on. */
export async function codeOf(folders: readonly string[]): Promise<string> {
  const hash = createHash('sha256').update(await readFile(join(packageRoot, 'package.json')))
  for (const room of folders) {
    const folder = join(import.meta.dirname, '..', '..', '..', room)
    const files = (await readdir(folder, { recursive: true })).filter(isCode).sort()
    for (const file of files) hash.update(`\0${room}/${file}\0`).update(await readFile(join(folder, file)))
  }
  return hash.digest('hex')
}

function isCode(file: string): boolean {
  return /\.[jt]s$/.test(file) && !/\.(test|testing|d)\.[jt]s$/.test(file)
}
