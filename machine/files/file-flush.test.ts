import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { createFileFlush, sharedFlush } from './file-flush.ts'

// [FLUSH-1] [FLUSH-2]
it('a flush that is asked for during another one is a flush of its own, shared by all that ask meanwhile', async () => {
  const ends: (() => void)[] = []
  const flush = sharedFlush(() => new Promise((resolve) => ends.push(resolve)))
  const settled: string[] = []
  const first = flush().then(() => settled.push('first'))
  const others = [flush(), flush(), flush()].map((each) => each.then(() => settled.push('other')))
  ends[0]?.()
  await first
  expect(settled).toEqual(['first'])
  await vi.waitFor(() => expect(ends).toHaveLength(2))
  ends[1]?.()
  await Promise.all(others)
  expect(settled).toEqual(['first', 'other', 'other', 'other'])
  expect(ends).toHaveLength(2)
})

it('a flush that fails is no failure of the next one', async () => {
  const flush = sharedFlush(vi.fn().mockRejectedValueOnce(new Error('EIO')).mockResolvedValue(undefined))
  const [failed, next] = [flush(), flush()]
  await expect(failed).rejects.toThrow('EIO')
  await expect(next).resolves.toBeUndefined()
})

it('a file is flushed, and one that does not exist has nothing to flush', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-flush-'))
  try {
    writeFileSync(join(folder, 'log'), 'a')
    await createFileFlush(join(folder, 'log'))()
    await createFileFlush(join(folder, 'none'))()
    await expect(createFileFlush(join(folder, 'log', 'below'))()).rejects.toMatchObject({ code: 'ENOTDIR' })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
