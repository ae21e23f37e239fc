/** A file that follows from the store is what it should be, and grows where it can. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { growFile } from './grown-file.ts'

// [GROWN-1] [GROWN-2]
it('whatever a file held, it holds the content, and is the same file where it began so', () => {
  const dir = mkdtempSync(join(tmpdir(), 'perdure-grown-'))
  const file = join(dir, 'file')
  const bytes = fc.uint8Array({ maxLength: 8, max: 1 })
  fc.assert(
    fc.property(bytes, bytes, (before, after) => {
      writeFileSync(file, before)
      const { ino } = statSync(file)
      let replaced: Buffer | undefined
      growFile(file, Buffer.from(after), {
        what: 'a file',
        beforeReplacing: (found) => {
          replaced = found
        },
      })
      const isBeginning = Buffer.from(after).subarray(0, before.length).equals(before)
      expect(readFileSync(file).equals(after)).toBe(true)
      expect(statSync(file).ino === ino).toBe(isBeginning)
      expect(replaced?.equals(before) ?? true).toBe(true)
      expect(replaced === undefined).toBe(isBeginning)
      expect(readdirSync(dir)).toEqual(['file'])
    }),
  )
  rmSync(dir, { recursive: true })
})
