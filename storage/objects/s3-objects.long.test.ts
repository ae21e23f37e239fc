import { mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeObjectStore, largeBytes } from './object-store.testing.ts'
import type { ObjectStore } from './object-store.ts'
import { parseObjectsAddress } from './objects-address.ts'
import { type OpenedClient, openS3Client } from './s3-client.ts'
import { s3Objects } from './s3-objects.ts'
import { ownerKeys, readerKeys, type Seaweed, seaweedMissing, startSeaweed } from './seaweed.testing.ts'

test('a client that is not installed is named with the command that installs it', async () => {
  const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
  await expect(openS3Client(() => Promise.reject(missing))).rejects.toMatchObject({
    kind: 'not_installed',
    message: expect.stringMatching(/npm install --ignore-scripts @aws-sdk\/client-s3@\d+\.\d+\.\d+$/),
  })
})

// [S3-4]
test('a server that takes whatever comes is refused by the probe', async () => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/xml')
      response.end(request.method === 'GET' ? '<ListBucketResult></ListBucketResult>' : '')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { s3, client } = await openS3Client()
    const at = new s3.S3Client({
      ...{ region: 'us-east-1', forcePathStyle: true, credentials: ownerKeys, maxAttempts: 1 },
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    })
    client.destroy()
    const store = await s3Objects(parseObjectsAddress('s3://abc'), { s3, client: at })
    await expect(store.probe()).rejects.toMatchObject({
      kind: 'unsupported',
      permanent: true,
      message: expect.stringContaining('ignores If-None-Match on PutObject'),
    })
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

describe.skipIf(seaweedMissing() !== undefined)('with a server of S3', () => {
  let seaweed: Seaweed
  let folder: string
  let opened: OpenedClient
  let count = 0
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perdure-objects-'))
    seaweed = await startSeaweed()
    opened = await seaweed.client()
  })
  afterAll(async () => {
    await seaweed?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  /** A store below a prefix of its own. */
  function newStore(client = opened, bucket = seaweed.bucket): Promise<ObjectStore> {
    count += 1
    return s3Objects(parseObjectsAddress(`s3://${bucket}/homes/${count}`), client)
  }

  describeObjectStore('S3', () => newStore())

  // [S3-1]
  test('bytes that are not the announced ones are found when they are read, and the target stays', async () => {
    const store = await newStore()
    const { sha256 } = await store.putOnce('one', Buffer.from('announced'))
    const key = `homes/${count}/one`
    await opened.client.send(
      new opened.s3.PutObjectCommand({
        Bucket: seaweed.bucket,
        Key: key,
        Body: 'announceD',
        Metadata: { 'perdure-sha256': sha256 },
      }),
    )
    await expect(store.get('one', join(folder, 'damaged', 'file'))).rejects.toMatchObject({ kind: 'corrupt' })
    expect(await readdir(join(folder, 'damaged'))).toEqual([])
  })

  // [S3-3]
  test('a file that shrinks while it is sent leaves neither an object nor parts', async () => {
    const store = await newStore()
    const file = join(folder, 'shrinking')
    await writeFile(file, largeBytes(40 * 1024 * 1024, 'shrinking'))
    const { client } = opened
    const sending = client.send.bind(client)
    const changing = Object.create(client, {
      send: {
        value: async (command: object, ...rest: []) => {
          if (command instanceof opened.s3.CreateMultipartUploadCommand)
            await truncate(file, 20 * 1024 * 1024)
          return sending(command as never, ...rest)
        },
      },
    }) as typeof client
    const interrupted = await s3Objects(parseObjectsAddress(`s3://${seaweed.bucket}/homes/${count}`), {
      s3: opened.s3,
      client: changing,
    })
    await expect(interrupted.putOnce('model', file)).rejects.toMatchObject({
      kind: 'damaged_upload',
      permanent: false,
    })
    expect(await store.list('')).toEqual([])
    expect(await store.sweep(-60_000)).toBe(0)
  })

  // [OBJECT-3] [S3-3]
  test('parts of a killed process are no object; a sweep takes them once they are old', async () => {
    const store = await newStore()
    const target = { Bucket: seaweed.bucket, Key: `homes/${count}/runs/killed` }
    const { UploadId } = await opened.client.send(new opened.s3.CreateMultipartUploadCommand(target))
    await opened.client.send(
      new opened.s3.UploadPartCommand({ ...target, UploadId, PartNumber: 1, Body: Buffer.alloc(1000) }),
    )
    expect(await store.list('')).toEqual([])
    expect(await store.head('runs/killed')).toBeUndefined()
    expect(await store.sweep(3_600_000)).toBe(0)
    // The server's clock has seconds.
    expect(await store.sweep(-60_000)).toBe(1)
    expect(await store.sweep(-60_000)).toBe(0)
    await store.putOnce('runs/killed', Buffer.from('again'))
  })

  // [S3-2]
  test('where the answer to a put is lost, the client asks again and equal content is success', async () => {
    const store = await newStore()
    let isLost = false
    const { client } = opened
    const sending = client.send.bind(client)
    const losing = Object.create(client, {
      send: {
        value: async (command: object, ...rest: []) => {
          const answer = await sending(command as never, ...rest)
          if (isLost || !(command instanceof opened.s3.PutObjectCommand)) return answer
          isLost = true
          return sending(command as never, ...rest)
        },
      },
    }) as typeof client
    const address = parseObjectsAddress(`s3://${seaweed.bucket}/homes/${count}`)
    await (await s3Objects(address, { s3: opened.s3, client: losing })).putOnce('m', Buffer.from('m'))
    expect(isLost).toBe(true)
    expect(await store.list('')).toEqual([{ key: 'm', size: 1 }])
  })

  test('a list is complete over more than a page of a thousand', async () => {
    const store = await newStore()
    const keys = Array.from({ length: 1005 }, (_, index) => `many/${String(index).padStart(4, '0')}`)
    for (let first = 0; first < keys.length; first += 50)
      await Promise.all(keys.slice(first, first + 50).map((key) => store.putOnce(key, Buffer.from('x'))))
    expect((await store.list('many/')).map(({ key }) => key)).toEqual(keys)
  })

  // [S3-4]
  test('a bucket that is missing, keys that are wrong or may only read, and no server are named without a secret', async () => {
    const wrong = { accessKeyId: 'stranger-key-id', secretAccessKey: 'stranger-secret-planted' }
    const cases = [
      ['no_bucket', true, () => newStore(opened, 'no-such-bucket')],
      ['no_permission', true, async () => newStore(await seaweed.client(wrong))],
      ['no_permission', true, async () => newStore(await seaweed.client(readerKeys))],
      ['unavailable', false, async () => newStore(await seaweed.client(ownerKeys, 'http://127.0.0.1:9'))],
    ] as const
    for (const [kind, permanent, open] of cases) {
      const store = await open()
      const fault = await store.probe().catch((error: unknown) => error)
      expect(fault).toMatchObject({ name: 'ObjectFault', kind, permanent })
      const { message, cause } = fault as Error
      expect(`${message} ${String(cause)}`).not.toMatch(/key-id|planted/)
    }
  })
})
