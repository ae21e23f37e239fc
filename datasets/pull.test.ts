import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { thisProcess, writtenProcess } from '../machine/processes/process.ts'
import type { Dataset, Source } from './catalogue.ts'
import type { Retries } from './download.ts'
import { type Pulled, type PullOptions, pull } from './pull.ts'
import { readRecord, writeRecord } from './record.ts'
import {
  type Answering,
  type FileServer,
  holdAfter,
  serve,
  sha256,
  startFileServer,
  status,
  zipOf,
} from './server.testing.ts'

const retries: Retries = { attempts: 3, silenceMs: 60_000, pauseMs: () => 0 }
// Larger than what a socket takes at once.
const body = Buffer.from(`[${Array.from({ length: 40_000 }, (_, index) => index).join(',')}]`)
const address = '/owner/data/questions.json'

let server: FileServer
let folder: string
beforeEach(async () => {
  server = await startFileServer()
  folder = await mkdtemp(path.join(tmpdir(), 'perdure-data-'))
  server.files.set(address, body)
})
afterEach(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

function datasetOf(...sources: Source[]): Dataset {
  return { task: 'quiz', version: '1', licence: 'MIT', folders: [''], sources }
}

function questions(options: { pinned?: boolean; at?: readonly string[] } = {}): Source {
  return {
    kind: 'file',
    path: 'sub/questions.json',
    addresses: (options.at ?? [address]).map((each) => `${server.url}${each}`),
    ...(options.pinned === false ? {} : { sha256: sha256(body) }),
    begins: '[',
  }
}

function pullHere(dataset: Dataset, options: PullOptions = {}): Promise<Pulled> {
  return pull(dataset, path.join(folder, 'quiz'), {
    retries,
    // Reported bytes are in the part already: how much a break leaves does not depend on speed.
    onProgress: ({ received }) => {
      if (received > 0) server.breakOff()
    },
    ...options,
  })
}

async function pulledBytes(): Promise<Buffer> {
  return readFile(path.join(folder, 'quiz/sub/questions.json'))
}

/** All files of the folder but the record. */
async function leftovers(): Promise<string[]> {
  const entries = await readdir(path.join(folder, 'quiz'), { recursive: true, withFileTypes: true })
  return entries.flatMap((entry) => (entry.isFile() && entry.name !== '.perdure-data' ? [entry.name] : []))
}

function trick(...answers: Answering[]): void {
  server.tricks.set(address, answers)
}

describe('a file', () => {
  test('is put in place and written down, and not pulled again', async () => {
    expect(await pullHere(datasetOf(questions()))).toMatchObject({
      files: 1,
      bytes: body.length,
      came: 1,
      unpinned: [],
    })
    expect(await pulledBytes()).toEqual(body)
    expect(await leftovers()).toEqual(['questions.json'])
    expect(await readRecord(path.join(folder, 'quiz'))).toMatchObject({ complete: true, licence: 'MIT' })
    expect(await pullHere(datasetOf(questions()))).toMatchObject({ files: 1, came: 0 })
    expect(server.requests).toEqual([address])
  })

  test('that was changed on the disk is pulled again', async () => {
    await pullHere(datasetOf(questions()))
    await writeFile(path.join(folder, 'quiz/sub/questions.json'), '[]')
    expect(await pullHere(datasetOf(questions()))).toMatchObject({ came: 1 })
    expect(await pulledBytes()).toEqual(body)
  })

  test('continues where its connection broke, as often as the retries allow', async () => {
    trick(holdAfter(90_000), holdAfter(60_000))
    await pullHere(datasetOf(questions()))
    expect(await pulledBytes()).toEqual(body)
    const [first, ...others] = server.requests
    expect(first).toBe(address)
    expect(others).toHaveLength(2)
    for (const request of others) expect(request).toMatch(/bytes=[1-9]\d*-$/)
  })

  test('continues in the next pull where the last one was cut off', async () => {
    trick(...Array.from({ length: 3 }, () => holdAfter(70_000)))
    await expect(pullHere(datasetOf(questions()))).rejects.toMatchObject({ kind: 'unreachable' })
    expect(await leftovers()).toEqual(expect.arrayContaining(['questions.json.part']))
    await pullHere(datasetOf(questions()))
    expect(server.requests.at(-1)).toMatch(/bytes=[1-9]\d*-$/)
    expect(await pulledBytes()).toEqual(body)
    expect(await leftovers()).toEqual(['questions.json'])
  })

  test('stops at a signal, and continues later', async () => {
    const controller = new AbortController()
    const stopped = pullHere(datasetOf(questions()), {
      signal: controller.signal,
      onProgress: ({ received }) => {
        if (received > 0) controller.abort(new Error('enough'))
      },
    })
    await expect(stopped).rejects.toThrow('enough')
    await pullHere(datasetOf(questions()))
    expect(await pulledBytes()).toEqual(body)
  })

  test('starts over where the publisher has changed it', async () => {
    const before = Buffer.from(body.toString().replaceAll('1', '2'))
    server.files.set(address, before)
    trick(holdAfter(70_000), (request, response) => serve(request, response, body))
    await pullHere(datasetOf(questions()))
    expect(await pulledBytes()).toEqual(body)
  })

  test('starts over where a server knows no ranges, or a part is longer than the file', async () => {
    trick(holdAfter(70_000), (_, response, bytes) => void response.writeHead(200).end(bytes))
    await pullHere(datasetOf(questions()))
    expect(await pulledBytes()).toEqual(body)
    await rm(path.join(folder, 'quiz/sub/questions.json'))
    const part = path.join(folder, 'quiz/sub/questions.json.part')
    await writeFile(part, 'x'.repeat(body.length + 5))
    await writeFile(`${part}.version`, `${server.url}${address}\n"${sha256(body)}"`)
    await pullHere(datasetOf(questions()))
    expect(await pulledBytes()).toEqual(body)
  })

  test('whose part is of other bytes is found out by its hash, and pulled whole', async () => {
    await mkdir(path.join(folder, 'quiz/sub'), { recursive: true })
    const part = path.join(folder, 'quiz/sub/questions.json.part')
    await writeFile(part, 'garbage')
    await writeFile(`${part}.version`, `${server.url}${address}\n"${sha256(body)}"`)
    await pullHere(datasetOf(questions()))
    expect(await pulledBytes()).toEqual(body)
  })

  test('with another hash is refused, and nothing of it stays', async () => {
    server.files.set(address, Buffer.from('[1]'))
    await expect(pullHere(datasetOf(questions()))).rejects.toMatchObject({
      kind: 'wrong_content',
      message: expect.stringContaining(sha256(body)),
    })
    expect(await leftovers()).toEqual([])
  })

  test('that is an error page with status 200 is refused', async () => {
    server.files.set(address, Buffer.from('<html>Google Drive - virus scan</html>'))
    await expect(pullHere(datasetOf(questions({ pinned: false })))).rejects.toMatchObject({
      kind: 'wrong_content',
    })
  })

  test('that is cut short is not put in place', async () => {
    const short: Answering = (_, response, bytes) => {
      response
        .writeHead(200, { 'content-length': bytes.length })
        .write(bytes.subarray(0, 1000), () => response.destroy())
    }
    trick(short, short, short)
    await expect(pullHere(datasetOf(questions()))).rejects.toMatchObject({ kind: 'unreachable' })
    expect(existsSync(path.join(folder, 'quiz/sub/questions.json'))).toBe(false)
  })

  const larger = { largest: 100_000 }
  test.each<readonly [string, Answering]>([
    ['says so', serve],
    [
      'does not say so',
      (_, response, bytes) => {
        response.writeHead(200)
        // Without end, as far as the reader can tell.
        response.write(bytes)
      },
    ],
    [
      'sends it compressed',
      (_, response) =>
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(2 ** 26, '[1'))),
    ],
  ])(
    'with more bytes than it may have is refused where the server %s, and nothing of it stays',
    async (_, answer) => {
      trick(answer)
      const options = { onProgress: () => undefined }
      await expect(pullHere(datasetOf({ ...questions(), ...larger }), options)).rejects.toMatchObject({
        kind: 'too_large',
        message: expect.stringContaining('100000 bytes'),
      })
      expect(await leftovers()).toEqual([])
      expect(server.requests).toHaveLength(1)
    },
  )

  test.each([
    ['without', false],
    ['with', true],
  ])('that a server compresses unasked comes whole, %s a length', async (_, hasLength) => {
    trick((__, response, bytes) => {
      const packed = gzipSync(bytes)
      const headers = { etag: '"packed"', 'content-encoding': 'gzip' }
      response
        .writeHead(200, hasLength ? { ...headers, 'content-length': packed.length } : headers)
        .end(packed)
    })
    await pullHere(datasetOf(questions({ pinned: false })), { onProgress: () => undefined })
    expect(await pulledBytes()).toEqual(body)
  })

  test('that a server compresses unasked, and breaks off, starts over', async () => {
    trick((_, response, bytes) => {
      const packed = gzipSync(bytes)
      response.writeHead(200, { etag: '"packed"', 'content-encoding': 'gzip' })
      response.write(packed.subarray(0, packed.length / 2), () => response.destroy())
    })
    await pullHere(datasetOf(questions()), { onProgress: () => undefined })
    expect(server.requests).toEqual([address, address])
    expect(await pulledBytes()).toEqual(body)
  })

  test('is taken from the first address that has it', async () => {
    await pullHere(datasetOf(questions({ at: ['/gone', address] })))
    expect(server.requests).toEqual(['/gone', address])
    await expect(
      pullHere(datasetOf({ ...questions({ at: ['/a', '/b'] }), path: 'c' })),
    ).rejects.toMatchObject({
      kind: 'not_found',
      message: expect.stringMatching(/\/a, .*\/b/),
    })
  })

  test('comes through redirects, overload and silence', async () => {
    server.tricks.set('/moved', [status(302, { location: address }), status(302, { location: address })])
    await pullHere(datasetOf(questions({ at: ['/moved'] })))
    await rm(path.join(folder, 'quiz'), { recursive: true })
    const silent: Answering = (_, response, bytes) => {
      response.writeHead(200, { 'content-length': bytes.length }).write(bytes.subarray(0, 100))
    }
    trick(status(503), silent)
    // Attempts enough for a machine on which a healthy server seems silent too.
    await pullHere(datasetOf(questions()), { retries: { ...retries, attempts: 30, silenceMs: 1000 } })
    expect(await pulledBytes()).toEqual(body)
  })

  test('without a pinned hash must have that of the first pull', async () => {
    expect(await pullHere(datasetOf(questions({ pinned: false })))).toMatchObject({
      unpinned: ['sub/questions.json'],
    })
    await rm(path.join(folder, 'quiz/sub/questions.json'))
    server.files.set(address, Buffer.from('[2]'))
    await expect(pullHere(datasetOf(questions({ pinned: false })))).rejects.toMatchObject({
      kind: 'wrong_content',
    })
  })

  test.skipIf(!existsSync('/dev/full'))('that the disk has no room for is said so', async () => {
    await mkdir(path.join(folder, 'quiz/sub'), { recursive: true })
    await symlink('/dev/full', path.join(folder, 'quiz/sub/questions.json.part'))
    await expect(pullHere(datasetOf(questions()))).rejects.toMatchObject({
      kind: 'not_writable',
      message: expect.stringContaining('the disk is full'),
    })
  })

  test('goes into a folder and nowhere else', async () => {
    await writeFile(path.join(folder, 'quiz'), 'a file')
    await expect(pullHere(datasetOf(questions()))).rejects.toMatchObject({ kind: 'not_writable' })
  })
})

describe('an archive', () => {
  function archive(zip: Buffer): Source {
    server.files.set('/quiz.zip', zip)
    return {
      kind: 'archive',
      path: 'quiz.zip',
      addresses: [`${server.url}/quiz.zip`],
      begins: 'PK',
      target: (entry) => (entry.endsWith('.txt') ? entry : undefined),
      owns: (file) => file.endsWith('.txt'),
    }
  }

  test('is unpacked in place, without what is not asked for and without itself', async () => {
    const source = archive(
      zipOf([
        { name: 'train/', text: '' },
        { name: 'train/a.txt', text: 'one' },
        { name: 'train/b.txt', text: 'two' },
        { name: 'readme.md', text: 'not this' },
      ]),
    )
    expect(await pullHere(datasetOf(source))).toMatchObject({ files: 2, bytes: 6, came: 1 })
    expect((await leftovers()).sort()).toEqual(['a.txt', 'b.txt'])
    expect(await pullHere(datasetOf(source))).toMatchObject({ files: 2, came: 0 })
    await rm(path.join(folder, 'quiz/train/a.txt'))
    expect(await pullHere(datasetOf(source))).toMatchObject({ files: 2, came: 1 })
  })

  test.each([
    ['a path upwards', { name: '../evil.txt', text: 'x' }],
    ['a path upwards in the middle', { name: 'a/../../evil.txt', text: 'x' }],
    ['an absolute path', { name: '/tmp/evil.txt', text: 'x' }],
    ['a path of Windows', { name: 'C:\\evil.txt', text: 'x' }],
    ['a link', { name: 'evil.txt', text: '/etc/passwd', mode: 0o120777 }],
    ['a wrong checksum', { name: 'evil.txt', text: 'x', crc: 1 }],
  ])('with %s is refused, and nothing of it stays', async (_, entry) => {
    const source = archive(zipOf([{ name: 'good.txt', text: 'good' }, entry]))
    await expect(pullHere(datasetOf(source))).rejects.toMatchObject({ kind: 'bad_archive' })
    expect(await leftovers()).toEqual([])
    expect(await readdir(folder)).toEqual(['quiz'])
  })

  test.each([
    ['that is none', Buffer.from('PK but no zip')],
    ['that is cut short', zipOf([{ name: 'good.txt', text: 'good' }]).subarray(0, 60)],
    ['with nothing of what is looked for', zipOf([{ name: 'readme.md', text: 'x' }])],
  ])('%s is forgotten with its hash: the good one is taken afterwards', async (_, bad) => {
    await expect(pullHere(datasetOf(archive(bad)))).rejects.toMatchObject({ kind: 'bad_archive' })
    const good = archive(zipOf([{ name: 'good.txt', text: 'good' }]))
    expect(await pullHere(datasetOf(good))).toMatchObject({ files: 1, came: 1 })
  })

  test('whose bad predecessor was kept is taken too', async () => {
    const bad = Buffer.from('PK but no zip')
    await mkdir(path.join(folder, 'quiz'))
    await writeFile(path.join(folder, 'quiz/quiz.zip'), bad)
    const known = { sha256: sha256(bad), pinned: false, address: `${server.url}/quiz.zip` }
    const { version, licence } = datasetOf()
    const updated = new Date(0).toISOString()
    const sources = { 'quiz.zip': known }
    const record = { task: 'quiz', version, licence, complete: false, updated, sources, files: {} }
    await writeRecord(path.join(folder, 'quiz'), record)
    const good = datasetOf(archive(zipOf([{ name: 'good.txt', text: 'good' }])))
    await expect(pullHere(good)).rejects.toMatchObject({ kind: 'bad_archive' })
    expect(await pullHere(good)).toMatchObject({ files: 1 })
  })

  test('that unpacks to more than it may is refused', async () => {
    const large = archive(
      zipOf([
        { name: 'good.txt', text: 'good' },
        { name: 'more.txt', text: 'x'.repeat(100) },
      ]),
    )
    await expect(pullHere(datasetOf({ ...large, largestUnpacked: 100 } as Source))).rejects.toMatchObject({
      kind: 'bad_archive',
      message: expect.stringContaining('more than 100 bytes'),
    })
  })

  test('that is none is refused', async () => {
    await expect(pullHere(datasetOf(archive(Buffer.from('PK but no zip'))))).rejects.toMatchObject({
      kind: 'bad_archive',
    })
  })
})

describe('in a closed network', () => {
  const source: Source = {
    kind: 'file',
    path: 'sub/questions.json',
    addresses: ['https://publisher.invalid/owner/questions.json'],
    sha256: sha256(body),
  }

  test.each([
    '/m/publisher.invalid/owner/questions.json',
    '/m/owner/questions.json',
    '/m/quiz/sub/questions.json',
    '/m/questions.json',
  ])('a mirror may have a file at %s', async (place) => {
    server.files.clear()
    server.files.set(place, body)
    await pullHere(datasetOf(source), { mirror: `${server.url}/m/` })
    expect(await pulledBytes()).toEqual(body)
  })

  test.each(['publisher.invalid/owner/questions.json', 'quiz/sub/questions.json', 'questions.json'])(
    'a folder may have a file at %s',
    async (place) => {
      const from = path.join(folder, 'brought')
      await mkdir(path.dirname(path.join(from, place)), { recursive: true })
      await writeFile(path.join(from, place), body)
      await pullHere(datasetOf(source), { from })
      expect(await pulledBytes()).toEqual(body)
      expect(server.requests).toEqual([])
    },
  )

  test('a folder without the file, or with another, is said so', async () => {
    const from = path.join(folder, 'brought')
    await mkdir(from)
    await expect(pullHere(datasetOf(source), { from })).rejects.toMatchObject({ kind: 'not_found' })
    await writeFile(path.join(from, 'questions.json'), '[]')
    await expect(pullHere(datasetOf(source), { from })).rejects.toMatchObject({ kind: 'wrong_content' })
    const small = datasetOf({ ...source, largest: 1 })
    await expect(pullHere(small, { from })).rejects.toMatchObject({ kind: 'too_large' })
    expect(await leftovers()).toEqual([])
  })
})

test('two pulls never work in one folder, and the lock of a dead one does not hold', async () => {
  await mkdir(path.join(folder, 'quiz'))
  const self = thisProcess()
  const { pid, start = '0', boot } = self
  await writeFile(path.join(folder, 'quiz/.pulling'), writtenProcess(self))
  await expect(pullHere(datasetOf(questions()))).rejects.toThrow(`process ${pid} is pulling into`)
  if (process.platform === 'linux') {
    // [PROCESS-1] A process of another container cannot be seen.
    await writeFile(
      path.join(folder, 'quiz/.pulling'),
      writtenProcess({ pid: 999_999_999, start, boot, namespace: '1' }),
    )
    await expect(pullHere(datasetOf(questions()))).rejects.toThrow(
      /of another container .* remove .*\.pulling/,
    )
  }
  // No such process, one whose number was given again, one of an earlier boot, and a lock cut off while written.
  const former = [
    { pid, start: `${start}1`, boot },
    { pid, start, boot: '0' },
    { pid: 999_999_999, start, boot },
  ].map(writtenProcess)
  for (const owner of [...(process.platform === 'linux' ? former : []), '']) {
    await rm(path.join(folder, 'quiz'), { recursive: true })
    await mkdir(path.join(folder, 'quiz'))
    await writeFile(path.join(folder, 'quiz/.pulling'), owner)
    await pullHere(datasetOf(questions()))
    expect(await leftovers()).toEqual(['questions.json'])
  }
})
