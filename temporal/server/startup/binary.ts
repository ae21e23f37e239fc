/**
 * The `temporal` binary: found on this machine.
 *
 * Invariants
 * - The returned program has answered `--version` as Temporal's command does, and is recent enough.
 * - Order: `PERDURE_TEMPORAL_CLI`, then the PATH, then the cache folder.
 */

import { execFile } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from '../../../machine/files/folder.ts'
import { TemporalFault } from '../fault.ts'

const run = promisify(execFile)

/** The version that is fetched where none is found; the one the tests run against. */
export const fetchedCliVersion = '1.9.1'
/** Older servers lack what the workflows need: updates with validators and eager activities as they are now. */
const oldestServer = '1.25.0'
/** Loading 150 MB from a cold disk takes its time. */
const answerTimeoutMs = 20_000

/** A binary that was tried. */
export interface TemporalBinary {
  readonly path: string
  readonly cliVersion: string
  readonly serverVersion: string
  /** Whether the web UI can be kept from asking the vendor for news. */
  readonly canDisableNews: boolean
}

/** Where a fetched binary lies. */
export function cachedBinaryPath(): string {
  return join(cacheFolder(), `temporal-${fetchedCliVersion}-${process.platform}-${process.arch}`, 'temporal')
}

/**
 * Looks for a usable binary.
 * @param log receives the binaries that were found and passed over, and why
 * @returns undefined when there is none
 * @throws TemporalFault `bad_settings` when `PERDURE_TEMPORAL_CLI` names something unusable
 */
export async function findTemporalBinary(log: (line: string) => void): Promise<TemporalBinary | undefined> {
  const named = process.env.PERDURE_TEMPORAL_CLI
  if (named !== undefined && named !== '') {
    const binary = await examineBinary(named)
    if (typeof binary !== 'string') return binary
    throw new TemporalFault(
      'bad_settings',
      `PERDURE_TEMPORAL_CLI names ${named}, which cannot be used: ${binary}. Correct it or unset it.`,
    )
  }
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  for (const path of [...folders.map((folder) => join(folder, 'temporal')), cachedBinaryPath()]) {
    if (!isExecutable(path)) continue
    const binary = await examineBinary(path)
    if (typeof binary !== 'string') return binary
    log(`Passing over ${path}: ${binary}.`)
  }
  return undefined
}

/** The answers by the files that gave them. A file takes a tenth of a second of a processor to answer. */
const answers = new Map<string, TemporalBinary>()

/** Tries a binary, unless the same file has answered before. @returns the reason in words when it cannot be used */
export async function examineBinary(path: string): Promise<TemporalBinary | string> {
  const file = fileAt(path)
  const known = file === undefined ? undefined : answers.get(file)
  if (known !== undefined) return known
  const answer = await askBinary(path)
  if (file !== undefined && typeof answer !== 'string') answers.set(file, answer)
  return answer
}

/** Tells a file from what may lie in its place later; undefined for a name that the PATH resolves. */
function fileAt(path: string): string | undefined {
  try {
    const { ino, size, mtimeMs } = statSync(path)
    return [path, ino, size, mtimeMs].join(' ')
  } catch {
    return undefined
  }
}

async function askBinary(path: string): Promise<TemporalBinary | string> {
  try {
    const { stdout } = await run(path, ['--version'], { timeout: answerTimeoutMs })
    const match = /version\s+v?(\d+\.\d+\.\d+\S*)\s+\(Server\s+(\d+\.\d+\.\d+)/i.exec(stdout)
    const [, cliVersion, serverVersion] = match ?? []
    if (cliVersion === undefined || serverVersion === undefined)
      return `it does not answer --version as Temporal's command does`
    if (compareVersions(serverVersion, oldestServer) < 0)
      return `its server is ${serverVersion}, older than ${oldestServer}`
    const help = await run(path, ['server', 'start-dev', '--help'], { timeout: answerTimeoutMs })
    return {
      path,
      cliVersion,
      serverVersion,
      canDisableNews: help.stdout.includes('--ui-disable-news-fetch'),
    }
  } catch (error) {
    return `it does not run (${error instanceof Error ? firstLine(error.message) : String(error)})`
  }
}

/** Compares dotted numbers. @returns negative, zero or positive, as sort functions want it */
export function compareVersions(left: string, right: string): number {
  const numbers = (version: string) => version.split('.').map((part) => Number.parseInt(part, 10) || 0)
  const [leftParts, rightParts] = [numbers(left), numbers(right)]
  for (let index = 0; index < Math.max(leftParts.length, rightParts.length); index += 1) {
    const difference = (leftParts[index] ?? 0) - (rightParts[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}
