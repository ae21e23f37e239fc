/** Commands whose output has no reader any more, or no room. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { removeHome, temporaryHome } from '../support/perdure-process.ts'

const program = fileURLToPath(new URL('../../bin/perdure.mjs', import.meta.url))
const home = temporaryHome()

afterAll(() => removeHome(home))

/** Calls the command in a shell that redirects its output. @returns the command's own code, not that of its reader */
function inShell(words: string, to: string) {
  const script = `"$0" "$1" ${words} ${to}; exit \${PIPESTATUS[0]}`
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script, process.execPath, program], {
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  })
  return { code: status, stdout, stderr }
}

describe('output that cannot be written', () => {
  // [OUTPUT-1]
  it.each(['--help', `runs --home ${home}`, 'env list', `train --dry-run --home ${home}`])(
    'a reader that leaves ends a command that only answers, quietly: %s',
    (words) => {
      // The reader is gone before the first word.
      expect(inShell(words, '| { exec 0<&-; sleep 0; }')).toEqual({ code: 0, stdout: '', stderr: '' })
    },
  )

  // [OUTPUT-3]
  it.each(['--help', `runs --home ${home} --json`])(
    'a full device is one line on standard error, and no success: %s',
    (words) => {
      const { code, stderr } = inShell(words, '> /dev/full')
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringMatching(/^error: standard output cannot be written: .*no space left.*\n$/),
      })
    },
  )

  // [OUTPUT-2]
  it('a run continues to its end without its reader, and says so in its log', () => {
    const small = '--set training.updates=1 --set warmStart.epochs=1 --set evaluation.suites=[]'
    const words = `train test/support/whole-pipeline.yaml --run alone --home ${home} ${small}`
    const { code, stdout, stderr } = inShell(words, '| head -n 2')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.split('\n')).toHaveLength(3)
    expect(inShell('status alone --json', `--home ${home}`).stdout).toContain('"status":"done"')
    expect(readFileSync(join(home, 'logs', 'workers.log'), 'utf8')).toContain('continues without it')
  }, 600_000)
})
