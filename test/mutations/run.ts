/**
 * `node test/mutations/run.ts`: makes each mutation in a copy of the checkout and runs the tests that must fail with it. Ends with
 * `N caught, N missed`; the exit code is 0 when all are caught.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Mutation, mutations } from './mutations.ts'

const root = dirname(dirname(import.meta.dirname))
const copy = mkdtempSync(join(tmpdir(), 'perdure-mutations-'))
const vitest = join(root, 'node_modules', '.bin', 'vitest')

/** @returns whether one of the tests failed */
function isCaught({ file, before, after, tests }: Mutation): boolean {
  const path = join(copy, file)
  const text = readFileSync(path, 'utf8')
  writeFileSync(
    path,
    text.replace(before, () => after),
  )
  try {
    const { status } = spawnSync(vitest, ['run', '--bail=1', ...tests], { cwd: copy, stdio: 'ignore' })
    return status !== 0
  } finally {
    writeFileSync(path, text)
  }
}

try {
  const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean)
  for (const file of files) cpSync(join(root, file), join(copy, file))
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  const tests = [...new Set(mutations.flatMap((each) => each.tests))]
  const { status } = spawnSync(vitest, ['run', ...tests], { cwd: copy, stdio: 'inherit' })
  if (status !== 0) throw new Error('the tests fail without a mutation')
  const missed = mutations.filter((each, index) => {
    const caught = isCaught(each)
    console.log(`${index + 1} ${caught ? 'caught' : 'missed'}: ${each.file}: ${each.before} → ${each.after}`)
    return !caught
  })
  console.log(`${mutations.length - missed.length} caught, ${missed.length} missed`)
  process.exitCode = missed.length === 0 ? 0 : 1
} finally {
  rmSync(copy, { recursive: true, force: true })
}
