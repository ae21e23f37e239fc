/** An engine that limits layers itself, one that cannot, and the volumes of images. */
import { afterEach, describe, expect, test } from 'vitest'
import {
  busyboxTar,
  engineMissing,
  startEngine,
  type TestEngine,
} from '../../../test/host/container-engine.ts'
import { type LoopDisk, mountLoopDisk } from '../../../test/host/loop-disk.ts'
import { engineThat } from '../engine.testing.ts'
import { connectEngine } from '../engine.ts'
import { openSandbox } from '../open.ts'
import type { ContainerSpec, Sandbox } from '../sandbox.ts'
import { SizedLayers, sizeRefusal } from './sized-layers.ts'

const mebibyte = 2 ** 20
const image = 'perdure-test:sh'
const spec: ContainerSpec = { image, user: '0:0', diskBytes: 64 * mebibyte, memoryBytes: 256 * mebibyte }

test('whether an engine gives a layer a size is found out once', async () => {
  const asked: (string | undefined)[] = []
  const refusal = '--storage-opt is supported only for overlay over xfs with the pquota mount option'
  const { docker } = await engineThat((request, response) => {
    request.setEncoding('utf8')
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      const size = JSON.parse(text).HostConfig?.StorageOpt?.size
      asked.push(size)
      response.statusCode = size === undefined ? 201 : 500
      response.end(JSON.stringify(size === undefined ? { Id: 'c' } : { message: refusal }))
    })
  })
  const layers = new SizedLayers()
  for (const bytes of [2 ** 30, 2 ** 30, undefined]) await layers.create(docker, { Image: image }, bytes)
  expect(asked).toEqual([String(2 ** 30), undefined, undefined, undefined])
  expect(await sizeRefusal(docker, image)).toBe(refusal)
})

test('a container that cannot be made for another reason is not made again without a size', async () => {
  let calls = 0
  const { docker } = await engineThat((_, response) => {
    calls += 1
    response.statusCode = 404
    response.end('{"message":"no such image"}')
  })
  await expect(new SizedLayers().create(docker, { Image: image }, 2 ** 30)).rejects.toThrow(/no such image/)
  expect(calls).toBe(1)
})

const missing = engineMissing()
if (missing !== undefined) console.warn(`layers with a size are not tested: ${missing}`)

describe.skipIf(missing !== undefined)('on an engine', () => {
  let engine: TestEngine | undefined
  let sandbox: Sandbox | undefined
  let disk: LoopDisk | undefined
  afterEach(async () => {
    await sandbox?.close()
    await engine?.close()
    disk?.remove()
    disk = undefined
  }, 60_000)

  test('whose disk has quotas, what is written beyond the size fails as on a full disk, and nothing is ended', async ({
    skip,
  }) => {
    const mounted = mountLoopDisk('btrfs', 2 ** 31)
    if (typeof mounted === 'string') return skip(`quotas are not tested: ${mounted}`)
    disk = mounted
    engine = await startEngine(disk.folder, ['btrfs'])
    sandbox = await openSandbox({ engine: engine.address })
    await sandbox.importImage(image, busyboxTar())
    const container = await sandbox.acquire(spec)
    const before = disk.free()
    const filled = await container.exec(
      'for i in 1 2 3 4 5; do dd if=/dev/zero bs=1M count=40 of=/root/$i || break; done; rm /root/1; echo x > /root/y; cat /root/y',
      { deadlineMs: 60_000 },
    )
    expect(filled.stderr).toMatch(/No space left on device|Disk quota exceeded/)
    expect(filled.stdout).toBe('x\n')
    expect(container.ended).toBeUndefined()
    expect(before - disk.free()).toBeLessThan(80 * mebibyte)
    await container.release()
  }, 120_000)

  // [LIMITS-6]
  test('the volumes of an image are folders in memory, and leave nothing on its disk', async () => {
    engine = await startEngine()
    sandbox = await openSandbox({ engine: engine.address })
    const { docker } = await connectEngine(engine.address)
    const progress = await docker.importImage(busyboxTar(), {
      repo: 'perdure-test',
      tag: 'volume',
      changes: 'VOLUME /data',
    })
    for await (const _ of progress);
    const withVolume = { ...spec, image: 'perdure-test:volume' }
    for (const { diskBytes, ...rest } of [withVolume, { ...withVolume, diskBytes: undefined }]) {
      const container = await sandbox.acquire({ ...rest, ...(diskBytes === undefined ? {} : { diskBytes }) })
      const { stdout } = await container.exec(
        'grep " /data " /proc/mounts | cut -d " " -f 1,3; for i in 1 2; do dd if=/dev/zero of=/data/$i bs=1M count=40; done 2>&1 | grep -c "No space left"',
      )
      expect(stdout).toBe('tmpfs tmpfs\n1\n')
      await container.release()
    }
    expect((await docker.listVolumes()).Volumes).toEqual([])
  }, 120_000)
})
