/** Trackers get each update and each evaluation once, whatever happened to the run and to their files. */
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runId } from '../../identity/identity.ts'
import type { StorageFault } from '../disk/fault.ts'
import { update } from '../metrics/metrics.testing.ts'
import type { MetricsLine } from '../metrics/metrics.ts'
import { openStore, type Store } from '../store.ts'
import { mlflowFiles } from './mlflow.ts'
import { crc32c, tensorboardFiles } from './tensorboard.ts'
import { scalarRows, type TrackedRun, trackedId } from './tracked-run.ts'
import { trackerNames, writeTrackers } from './tracking.ts'
import { wandbFiles } from './wandb.ts'

const run = runId('first')
const created = Date.parse('2026-01-02T03:04:05.000Z')
let dir: string
let store: Store

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'perdure-trackers-'))
  store = await openStore(join(dir, 'store.db'))
  await store.runs.insert({ id: run, config: { seed: 7 }, created })
})
afterEach(async () => {
  await store.close()
  rmSync(dir, { recursive: true, force: true })
})

const foldersIn = (place: string) =>
  Object.fromEntries(trackerNames.map((name) => [name, join(dir, place, name)]))

/** Every file under a folder, by its path. */
function contents(place: string): Readonly<Record<string, string>> {
  const paths = readdirSync(join(dir, place), { recursive: true, encoding: 'utf8' }).toSorted()
  return Object.fromEntries(
    paths.flatMap((path) => {
      const file = join(dir, place, path)
      return statSync(file).isFile() ? [[path, readFileSync(file, 'latin1').replaceAll(place, 'PLACE')]] : []
    }),
  )
}

async function put(...lines: readonly MetricsLine[]): Promise<void> {
  for (const line of lines) await store.metrics.put(run, line)
}

function evaluation(version: number): MetricsLine {
  const counts = { n: 200, planned: 200, lost: {} }
  return { evaluation: `e-held_out-v${version}-1`, version, suite: 'held_out', success: 0.4, ...counts }
}

function tracked(lines: readonly MetricsLine[]): TrackedRun {
  return { id: run, created, status: 'running', config: {}, rows: scalarRows(lines, created) }
}

describe('the rows of a run', () => {
  // [TRACKED-1] [TRACKED-2]
  it('have an update at its step and an evaluation at the step that made its version', () => {
    const rows = scalarRows(
      [
        evaluation(0),
        update(1),
        update(2),
        evaluation(2),
        { rollback: 1, version: 3, from: 2, time: '2026-01-02T03:04:05.678Z' },
        evaluation(3),
        update(3, 4),
        // Refused: it left the version as it was.
        update(4, 4),
        evaluation(4),
      ],
      created,
    )
    expect(rows.map(({ step }) => step)).toEqual([0, 1, 2, 2, 2, 3, 4, 3])
  })

  it('name what is nested by its path, and leave out lists and words', () => {
    const line = {
      ...update(1),
      refused: 'why',
      fresh: { tokens: 3, kl: 0, effective_share: 1, ratios: [1] },
    }
    const names = scalarRows([line, evaluation(1)], created).map(({ scalars }) =>
      scalars.map(([name]) => name),
    )
    expect(names[0]).toEqual(
      expect.arrayContaining(['version', 'success/alfworld', 'seconds/wait', 'fresh/effective_share']),
    )
    expect(names[0]).not.toContain('step')
    expect(names[0]?.some((name) => /ratios|refused|time/.test(name))).toBe(false)
    expect(names[1]).toEqual(
      ['version', 'success', 'n', 'planned'].map((name) => `evaluation/held_out/${name}`),
    )
  })

  // [TRACKED-3]
  it('belong to an id that another run of the same name does not have', () => {
    expect(trackedId({ id: run, created })).toBe(trackedId({ id: run, created }))
    expect(trackedId({ id: run, created })).not.toBe(trackedId({ id: run, created: created + 1 }))
  })
})

describe('the folders of a run', () => {
  // [TRACKING-1]
  it('hold the same after any interruption as after none', async () => {
    await put(update(1))
    await writeTrackers(store, run, foldersIn('broken'))
    // Killed while it wrote; and someone's editor.
    const [events = ''] = readdirSync(join(dir, 'broken', 'tensorboard', run))
    truncateSync(join(dir, 'broken', 'tensorboard', run, events), 20)
    await put(update(2), evaluation(1))
    await writeTrackers(store, run, foldersIn('broken'))
    appendFileSync(join(dir, 'broken', 'tensorboard', run, events), 'what no one asked for')
    await put(update(3))
    for (let again = 0; again < 5; again++) await writeTrackers(store, run, foldersIn('broken'))
    await writeTrackers(store, run, foldersIn('whole'))
    expect(contents('broken')).toEqual(contents('whole'))
    expect(Object.keys(contents('whole')).length).toBeGreaterThan(10)
  })

  it('are not there where no tracker is asked for', async () => {
    await put(update(1))
    await writeTrackers(store, run, { mlflow: join(dir, 'one') })
    expect(readdirSync(dir).filter((name) => !name.startsWith('store'))).toEqual(['one'])
  })

  it('leave the experiment of MLflow as a person changed it', async () => {
    await put(update(1))
    const folders = { mlflow: join(dir, 'one') }
    await writeTrackers(store, run, folders)
    const [experiment = ''] = readdirSync(folders.mlflow)
    writeFileSync(join(folders.mlflow, experiment, 'meta.yaml'), 'name: "renamed"\n')
    await put(update(2))
    await writeTrackers(store, run, folders)
    expect(readFileSync(join(folders.mlflow, experiment, 'meta.yaml'), 'utf8')).toBe('name: "renamed"\n')
  })

  it('that cannot be made are reported by name', async () => {
    writeFileSync(join(dir, 'taken'), '')
    await expect(writeTrackers(store, run, { wandb: join(dir, 'taken') })).rejects.toMatchObject({
      name: 'StorageFault',
      kind: 'not_a_directory',
    } satisfies Partial<StorageFault>)
  })
})

describe('a tracking server', () => {
  // [TRACKING-2]
  it('is sent the latest state while it is slow, not each one between', async () => {
    const asked: string[] = []
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const server = createServer(async (request, response) => {
      asked.push(request.url ?? '')
      await held
      response.writeHead(500).end('{}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const mlflow = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      const sendings: Promise<void>[] = []
      for (const step of [1, 2, 3, 4]) {
        await put(update(step))
        const { sent } = await writeTrackers(store, run, { mlflow })
        sendings.push(sent)
      }
      release()
      const endings = await Promise.allSettled(sendings)
      // The first is on its way when the others come, and the last of those speaks for all.
      expect(asked).toHaveLength(2)
      expect(endings.map(({ status }) => status)).toContain('rejected')
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
})

describe('an event file', () => {
  // [EVENTS-1] The check value of CRC-32C, and that of 32 zeros (RFC 3720, B.4).
  it('has checksums of Castagnoli', () => {
    expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283)
    expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa)
  })

  // [EVENTS-1]
  it('says a value of zero', () => {
    const [file] = tensorboardFiles(tracked([{ ...update(1), entropy: 0 }]))
    // The name of the figure, then field 2 with 32 bits, all of them zero.
    const said = Buffer.concat([Buffer.from('entropy'), Buffer.from([0x15, 0, 0, 0, 0])])
    expect(file?.content.includes(said)).toBe(true)
  })

  // [EVENTS-2]
  it('begins with the file of any earlier moment', () => {
    const lines = [update(1), evaluation(1), update(2), update(3)]
    const at = (count: number) =>
      tensorboardFiles(tracked(lines.slice(0, count)))[0]?.content ?? Buffer.alloc(0)
    for (let count = 0; count < lines.length; count++)
      expect(at(4).subarray(0, at(count).byteLength).equals(at(count))).toBe(true)
  })
})

/** The messages of a log of LevelDB's form, by its description. */
function messagesOf(log: Buffer): readonly Buffer[] {
  const messages: Buffer[] = []
  let parts: Buffer[] = []
  for (let at = 7; at < log.byteLength; ) {
    const room = 32_768 - (at % 32_768)
    if (room < 7) {
      at += room
      continue
    }
    const length = log.readUInt16LE(at + 4)
    const kind = log.readUInt8(at + 6)
    expect(parts.length === 0).toBe(kind === 1 || kind === 2)
    parts.push(log.subarray(at + 7, at + 7 + length))
    if (kind === 1 || kind === 4) {
      messages.push(Buffer.concat(parts))
      parts = []
    }
    at += 7 + length
  }
  return messages
}

describe('an offline run of Weights & Biases', () => {
  // [OFFLINE-1]
  it('has each message whole, wherever blocks end', () => {
    fc.assert(
      fc.property(fc.integer({ min: 32_400, max: 32_800 }), (size) => {
        const config = { long: 'x'.repeat(size), longer: 'y'.repeat(70_000) }
        const [file] = wandbFiles({ ...tracked([update(1), update(2)]), config })
        const messages = messagesOf(file?.content ?? Buffer.alloc(0))
        // Header, run, metric, two rows, summary, end; each begins with its number.
        expect(messages.map((message) => [message[0], message[1]])).toEqual(
          [1, 2, 3, 4, 5, 6, 7].map((n) => [8, n]),
        )
      }),
      { numRuns: 400 },
    )
  })
})

describe('a file store of MLflow', () => {
  // [FILE-STORE-2]
  it('has no file outside of the folder of its run', () => {
    const task = '../../../etc/pass?wd'
    const files = mlflowFiles(tracked([{ ...update(1), success: { [task]: 1, '..': 1, '': 1 } }]), '/store')
    const place =
      /^\d+(\/[0-9a-f]{32}\/(metrics|params|tags|artifacts)\/[\w\-. :/]+|\/[0-9a-f]{32}\/meta\.yaml|\/meta\.yaml)$/
    for (const { path } of files) {
      expect(path).toMatch(place)
      expect(path.split('/')).not.toContain('..')
      expect(path.split('/')).not.toContain('')
    }
  })
})
