/**
 * Downloading one file over HTTP, so that after a broken attempt only the missing part is fetched.
 *
 * Invariants
 * - The file at its place is whole: bytes arrive in `<file>.part`, are checked, and then renamed.
 * - A part is continued where the server still has the same bytes (`If-Range`); otherwise the download starts over.
 * - No more is written than the source may have, whatever the server says or sends.
 * - A file with another hash than expected is never put in place; a part that led to it is thrown away.
 * - A connection that is silent for long, breaks off or is overloaded is tried again, a bounded number of times.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { makeFolder } from '../machine/files/folder.ts'
import { DataFault, writingFault } from './fault.ts'

/** A download. */
export interface Download {
  /** The first that has the file is taken. */
  readonly addresses: readonly string[]
  /** Where it is put. */
  readonly file: string
  readonly sha256?: string | undefined
  /** How its text begins, blanks aside. */
  readonly begins?: string | undefined
  /** Bytes that it may have at most. */
  readonly largest: number
}

/** How often a download is tried, and how long each time. */
export interface Retries {
  readonly attempts: number
  /** Silence after which a connection is given up. */
  readonly silenceMs: number
  /** Pause before the n-th further attempt, n from 1. */
  pauseMs(attempt: number): number
}

export const usualRetries: Retries = {
  attempts: 6,
  silenceMs: 60_000,
  pauseMs: (attempt) => Math.min(30_000, 1000 * 2 ** (attempt - 1)),
}

export interface DownloadOptions {
  readonly retries?: Retries
  readonly signal?: AbortSignal | undefined
  /** Called as bytes arrive; `total` where the server says it. */
  onProgress?(received: number, total: number | undefined): void
}

/** The result of a download. */
export interface Downloaded {
  readonly address: string
  readonly bytes: number
  readonly sha256: string
}

/** Downloads a file. @throws DataFault, or the reason of the signal */
export async function download(what: Download, options: DownloadOptions = {}): Promise<Downloaded> {
  const missing: string[] = []
  for (const address of what.addresses) {
    const came = await downloadFrom(address, what, options)
    if (came !== 'not_found') return came
    missing.push(address)
  }
  throw new DataFault('not_found', `${path.basename(what.file)} is not there: ${missing.join(', ')}`)
}

async function downloadFrom(
  address: string,
  what: Download,
  options: DownloadOptions,
): Promise<Downloaded | 'not_found'> {
  const { retries = usualRetries, signal } = options
  let last: unknown
  for (let attempt = 1; attempt <= retries.attempts; attempt++) {
    if (attempt > 1) await delay(retries.pauseMs(attempt - 1), undefined, { signal })
    const part = `${what.file}.part`
    const resumed = await sizeOf(part)
    try {
      if ((await fetchInto(part, address, what.largest, options)) === 'not_found') return 'not_found'
      return await putInPlace(part, address, what)
    } catch (cause) {
      if (signal?.aborted === true) throw signal.reason
      // Bytes of two versions may have met in a part: once more from the start tells.
      const again = cause instanceof DataFault && cause.kind === 'wrong_content' && resumed > 0
      if (cause instanceof DataFault && !again && cause.kind !== 'unreachable') throw cause
      last = cause
    }
  }
  const reason = last instanceof Error ? causeOf(last) : String(last)
  throw new DataFault('unreachable', `${address} cannot be downloaded: ${reason}`, { cause: last })
}

/** Appends to the part what is missing of it. */
async function fetchInto(
  part: string,
  address: string,
  largest: number,
  { retries = usualRetries, signal, onProgress }: DownloadOptions,
): Promise<'whole' | 'not_found'> {
  const silence = new AbortController()
  const timer = setTimeout(
    () => silence.abort(new DataFault('unreachable', `no byte came in ${retries.silenceMs / 1000} s`)),
    retries.silenceMs,
  )
  const signals = signal === undefined ? [silence.signal] : [silence.signal, signal]
  const given = AbortSignal.any(signals)
  try {
    const resuming = await resumption(part, address)
    const response = await fetch(address, { headers: resuming.headers, signal: given })
    const { status } = response
    if ([404, 403, 410].includes(status)) {
      await response.body?.cancel()
      return 'not_found'
    }
    if (status === 416) {
      // The part is longer than the file, or already whole; from the start is always right.
      await response.body?.cancel()
      await discardPart(part)
      throw new DataFault('unreachable', 'the server has no such range')
    }
    if (status !== 200 && status !== 206) {
      await response.body?.cancel()
      const kind = status === 429 || status >= 500 || status === 408 ? 'unreachable' : 'not_found'
      throw new DataFault(kind, `${address}: the server answers ${status}`)
    }
    if (address.startsWith('https:') && !response.url.startsWith('https:'))
      throw new DataFault('wrong_content', `${address} leads to ${response.url}, which is not encrypted`)
    const start = status === 206 ? startOfRange(response) : 0
    await using file = await openPart(part, start, response, address)
    await receive(response, file, start, (received, total) => {
      timer.refresh()
      if (Math.max(received, total ?? 0) > largest) throw tooLarge(address, largest)
      onProgress?.(received, total)
    })
    // A slow disk is no silent server.
    clearTimeout(timer)
    await file.sync()
    return 'whole'
  } catch (cause) {
    if (cause instanceof DataFault && cause.kind === 'too_large') await discardPart(part)
    throw silence.signal.aborted ? silence.signal.reason : writingFault(cause, part)
  } finally {
    clearTimeout(timer)
  }
}

/** A file beyond the bound of its source is not the published one, and might fill the disk. */
export function tooLarge(from: string, largest: number): DataFault {
  return new DataFault(
    'too_large',
    `${from} is not what was published: it has more than the ${largest} bytes that it may have`,
  )
}

/** Asks for the rest of a part, where the server has named the version of its bytes. */
async function resumption(part: string, address: string): Promise<{ headers: Record<string, string> }> {
  const size = await sizeOf(part)
  const noted = size === 0 ? '' : await readFile(`${part}.version`, 'utf8').catch(() => '')
  const [from, version] = noted.split('\n')
  if (from !== address || version === undefined || version === '')
    return { headers: { 'accept-encoding': 'identity' } }
  return { headers: { range: `bytes=${size}-`, 'if-range': version, 'accept-encoding': 'identity' } }
}

async function openPart(
  part: string,
  start: number,
  response: Response,
  address: string,
): Promise<FileHandle> {
  makeFolder(path.dirname(part))
  const etag = response.headers.get('etag')
  // A weak one does not tell bytes apart.
  const stamp = etag !== null && !etag.startsWith('W/') ? etag : response.headers.get('last-modified')
  const version = isEncoded(response) ? null : stamp
  await writeFile(`${part}.version`, version === null ? '' : `${address}\n${version}`)
  const file = await open(part, start === 0 ? 'w' : 'r+')
  if (start > 0) await file.truncate(start)
  return file
}

async function receive(
  response: Response,
  file: FileHandle,
  start: number,
  onProgress: (received: number, total: number | undefined) => void,
): Promise<void> {
  const length = isEncoded(response) ? null : response.headers.get('content-length')
  const total = length === null ? undefined : start + Number(length)
  let received = start
  onProgress(received, total)
  for await (const chunk of response.body ?? []) {
    let written = 0
    while (written < chunk.length)
      written += (await file.write(chunk, written, chunk.length - written, received + written)).bytesWritten
    received += chunk.length
    onProgress(received, total)
  }
  if (total !== undefined && received !== total)
    throw new DataFault('unreachable', `${received} of ${total} bytes came`)
}

/** Some servers compress whatever is asked for: length, ranges and version are then of other bytes than come out. */
function isEncoded(response: Response): boolean {
  return (response.headers.get('content-encoding') ?? 'identity') !== 'identity'
}

function startOfRange(response: Response): number {
  const start = /^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '')?.[1]
  if (start === undefined) throw new DataFault('unreachable', 'the server sent a range without its start')
  return Number(start)
}

async function putInPlace(
  part: string,
  address: string,
  { file, sha256, begins }: Download,
): Promise<Downloaded> {
  const bytes = await sizeOf(part)
  const found = await sha256Of(part)
  const problem =
    sha256 !== undefined && sha256 !== found
      ? `its SHA-256 is ${found}, expected ${sha256}`
      : begins !== undefined && !(await beginning(part)).startsWith(begins)
        ? `it does not begin with ${JSON.stringify(begins)}`
        : undefined
  if (problem !== undefined) {
    await discardPart(part)
    throw new DataFault('wrong_content', `${address} is not what was published: ${problem}`)
  }
  await rename(part, file)
  await discardPart(part)
  return { address, bytes, sha256: found }
}

async function discardPart(part: string): Promise<void> {
  await Promise.all([rm(part, { force: true }), rm(`${part}.version`, { force: true })])
}

/** SHA-256 of a file in hex. */
export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk)
  return hash.digest('hex')
}

async function beginning(file: string): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of createReadStream(file, { end: 1023 })) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8').trimStart()
}

async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  )
}

/** Fetch hides the reason one or two causes deep. */
function causeOf(error: Error): string {
  const { cause } = error
  return cause instanceof Error && cause.message !== ''
    ? `${error.message} (${cause.message})`
    : error.message
}
