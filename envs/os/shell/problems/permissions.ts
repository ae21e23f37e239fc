/**
 * Problems about permissions: set, spread, count and withdraw them, and let a script run that may not.
 *
 * Invariants
 * - Every kind can be solved with what its description says.
 */

import { nouns } from '../../../generated/words.ts'
import { changed, filesOnly, kindsAbout, modeOf, type ProblemKind } from '../problem.ts'
import { folderPath, treeOf } from '../trees.ts'

const modes = [0o600, 0o640, 0o644, 0o700, 0o750, 0o755] as const

function octal(mode: number): string {
  return mode.toString(8)
}

const { easy, normal, hard } = kindsAbout('permissions')

export const permissionProblems: readonly ProblemKind[] = [
  easy('set-mode', (draw) => {
    const { top, files } = treeOf(draw, { files: [2, 8] })
    const file = draw.one(files)
    const mode = draw.one(modes.filter((each) => each !== 0o644))
    return {
      description: `Set the permissions of the file ${file.path} to ${octal(mode)}. Leave the other files as they are.`,
      world: filesOnly(files),
      solution: [`chmod ${octal(mode)} ${file.path}`],
      goal: {
        kind: 'files',
        below: top,
        files: files.map((each) => ({ ...each, mode: each === file ? mode : modeOf(each) })),
      },
    }
  }),
  easy('let-run', (draw) => {
    const top = folderPath(draw)
    const [name = '', word = ''] = draw.some(nouns, 2)
    const path = `${top}/${name}.sh`
    const file = { path, content: `#!/bin/bash\necho ${word}\n` }
    return {
      description: `${path} does not run. Repair that; leave its content as it is.`,
      world: filesOnly([{ ...file, mode: draw.one([0o600, 0o640, 0o644]) }]),
      solution: [path, `chmod 755 ${path}`, path],
      goal: { kind: 'files', below: top, files: [{ ...file, mode: 0o755 }] },
    }
  }),
  normal('count-mode', (draw) => {
    const { top, files } = treeOf(draw, { files: [2, 7], folders: [1, 4] })
    const some = draw.some(modes, 3)
    const set = files.map((file) => ({ ...file, mode: draw.one(some) }))
    const wanted = draw.one(some)
    return {
      description: `How many files in ${top} and its subfolders have exactly the permissions ${octal(wanted)}?`,
      world: filesOnly(set),
      solution: [`find ${top} -type f -perm ${octal(wanted)} | wc -l`],
      goal: { kind: 'answer', answer: String(set.filter(({ mode }) => mode === wanted).length) },
    }
  }),
  normal('make-executable', (draw) => {
    const { top, files } = treeOf(draw, { files: [3, 6], folders: [1, 3], extensions: ['sh', 'txt', 'py'] })
    const wanted = draw.one(files).path.split('.').at(-1) ?? ''
    return {
      description: `Give every .${wanted} file in ${top} and its subfolders the permissions 755. Leave the other files as they are.`,
      world: filesOnly(files),
      solution: [`find ${top} -type f -name '*.${wanted}' -exec chmod 755 {} +`],
      goal: {
        kind: 'files',
        below: top,
        files: files.map((file) => ({
          ...file,
          mode: file.path.endsWith(`.${wanted}`) ? 0o755 : modeOf(file),
        })),
      },
    }
  }),
  hard('withdraw-but-one', (draw) => {
    const { top, folders, files } = treeOf(draw, { files: [2, 5], folders: [2, 4] })
    const kept = draw.one(folders.slice(1))
    const isKept = (path: string) => path.startsWith(`${kept}/`)
    const mode = draw.one([0o400, 0o440, 0o444] as const)
    return {
      description: `Set the permissions of every file in ${top} and its subfolders to ${octal(mode)}, but not of those in ${kept} and below it.`,
      world: filesOnly(files, folders),
      solution: [`find ${top} -type f -not -path '${kept}/*' -exec chmod ${octal(mode)} {} +`],
      goal: {
        kind: 'files',
        below: top,
        files: changed(files, (file) => ({ ...file, mode: isKept(file.path) ? modeOf(file) : mode })),
      },
    }
  }),
]
