/**
 * Problems about files: find, count, make, move, rename and delete them, and find what a script misses.
 *
 * Invariants
 * - Every kind can be solved with what its description says.
 */

import { extensions, lineOf, linesOf, nouns } from '../../../generated/words.ts'
import { changed, filesOnly, isIn, kindsAbout, nameOfFile, type ProblemKind } from '../problem.ts'
import { folderPath, treeOf } from '../trees.ts'

function withExtension(extension: string): (file: { path: string }) => boolean {
  return ({ path }) => path.endsWith(`.${extension}`)
}

const { easy, normal, hard } = kindsAbout('files')

export const fileProblems: readonly ProblemKind[] = [
  easy('count-extension', (draw) => {
    const kinds = draw.some(extensions, 3)
    const tree = treeOf(draw, { files: [4, 14], folders: [0, 2], extensions: kinds })
    const wanted = draw.one(kinds)
    const count = tree.files.filter((file) => isIn(tree.top, file)).filter(withExtension(wanted)).length
    return {
      description: `How many files directly in ${tree.top} have the extension .${wanted}? Do not count those in its subfolders.`,
      world: filesOnly(tree.files, tree.folders),
      solution: [`find ${tree.top} -maxdepth 1 -type f -name '*.${wanted}' | wc -l`],
      goal: { kind: 'answer', answer: String(count) },
    }
  }),
  easy('count-hidden', (draw) => {
    const tree = treeOf(draw, { files: [4, 14], folders: [0, 2], hidden: 0.4 })
    const hidden = tree.files.filter((file) => isIn(tree.top, file) && nameOfFile(file).startsWith('.'))
    return {
      description: `How many hidden files are directly in ${tree.top}? Do not count those in its subfolders.`,
      world: filesOnly(tree.files, tree.folders),
      solution: [`find ${tree.top} -maxdepth 1 -type f -name '.*' | wc -l`],
      goal: { kind: 'answer', answer: String(hidden.length) },
    }
  }),
  easy('make-file', (draw) => {
    const below = folderPath(draw)
    const [folder, name] = draw.some(nouns, 2)
    const path = `${below}/${folder}/${name}.txt`
    const text = lineOf(draw, 3)
    return {
      description: `Create the file ${path} with the single line "${text}". Create the folders that are missing.`,
      world: filesOnly([], []),
      solution: [`mkdir -p ${below}/${folder} && echo '${text}' > ${path}`],
      goal: { kind: 'files', below, files: [{ path, content: `${text}\n` }] },
    }
  }),
  easy('rename-file', (draw) => {
    const { top, files } = treeOf(draw, { files: [2, 8] })
    const file = draw.one(files)
    const path = `${top}/${draw.one(nouns)}-${draw.int(2, 99)}.${draw.one(extensions)}`
    return {
      description: `Rename the file ${file.path} to ${path}.`,
      world: filesOnly(files),
      solution: [`mv ${file.path} ${path}`],
      goal: {
        kind: 'files',
        below: top,
        files: changed(files, (each) => (each === file ? { ...each, path } : each)),
      },
    }
  }),
  easy('missed-file', (draw) => {
    const top = folderPath(draw)
    const [name = '', input = '', wrong = ''] = draw.some(nouns, 3)
    const script = { path: `${top}/${name}.sh`, content: `cat ${top}/${input}.txt\n` }
    const content = linesOf(draw, 1)
    return {
      description: `bash ${script.path} fails: its file has another name. Rename that file.`,
      world: filesOnly([script, { path: `${top}/${wrong}.txt`, content }]),
      solution: [
        `bash ${script.path}`,
        `ls ${top}`,
        `mv ${top}/${wrong}.txt ${top}/${input}.txt`,
        `bash ${script.path}`,
      ],
      goal: { kind: 'files', below: top, files: [script, { path: `${top}/${input}.txt`, content }] },
    }
  }),
  easy('largest-file', (draw) => {
    const { top, files } = treeOf(draw, { files: [3, 9] })
    const largest = draw.one(files)
    const content = files.reduce((text, file) => text + file.content, linesOf(draw, 2))
    return {
      description: `Which file in ${top} is the largest? Answer its name without the folder.`,
      world: filesOnly(changed(files, (file) => (file === largest ? { ...file, content } : file))),
      solution: [`ls -S ${top} | head -n 1`],
      goal: { kind: 'answer', answer: nameOfFile(largest) },
    }
  }),
  normal('count-below', (draw) => {
    const kinds = draw.some(extensions, 3)
    const tree = treeOf(draw, { files: [2, 7], folders: [2, 5], extensions: kinds, hidden: 0.1 })
    const wanted = draw.one(kinds)
    return {
      description: `How many files with the extension .${wanted} are in ${tree.top} and all its subfolders, hidden ones included?`,
      world: filesOnly(tree.files, tree.folders),
      solution: [`find ${tree.top} -type f -name '*.${wanted}' | wc -l`],
      goal: { kind: 'answer', answer: String(tree.files.filter(withExtension(wanted)).length) },
    }
  }),
  normal('delete-extension', (draw) => {
    const kinds = draw.some(extensions, 3)
    const { top, files } = treeOf(draw, { files: [2, 6], folders: [2, 4], extensions: kinds })
    const unwanted = draw.one(files).path.split('.').at(-1) ?? ''
    return {
      description: `Delete every file with the extension .${unwanted} in ${top} and its subfolders. Keep all other files.`,
      world: filesOnly(files),
      solution: [`find ${top} -type f -name '*.${unwanted}' -delete`],
      goal: {
        kind: 'files',
        below: top,
        files: changed(files, (file) => (withExtension(unwanted)(file) ? undefined : file)),
      },
    }
  }),
  normal('move-extension', (draw) => {
    const kinds = draw.some(extensions, 3)
    const { top, files } = treeOf(draw, { files: [5, 12], extensions: kinds })
    const moved = draw.one(files).path.split('.').at(-1) ?? ''
    const target = `${top}/${draw.one(nouns)}-files`
    return {
      description: `Move all files with the extension .${moved} from ${top} into the new folder ${target}.`,
      world: filesOnly(files),
      solution: [`mkdir ${target} && mv ${top}/*.${moved} ${target}/`],
      goal: {
        kind: 'files',
        below: top,
        files: changed(files, (file) =>
          withExtension(moved)(file) ? { ...file, path: `${target}/${nameOfFile(file)}` } : file,
        ),
      },
    }
  }),
  hard('rename-extension', (draw) => {
    const [from = 'txt', to = 'md', other = 'log'] = draw.some(extensions, 3)
    const { top, files } = treeOf(draw, { files: [2, 6], folders: [2, 4], extensions: [from, other] })
    return {
      description: `In ${top} and its subfolders, rename every file with the extension .${from} so that it has the extension .${to} instead.`,
      world: filesOnly(files),
      solution: [
        `find ${top} -type f -name '*.${from}' | while read -r file; do mv "$file" "\${file%.${from}}.${to}"; done`,
      ],
      goal: {
        kind: 'files',
        below: top,
        files: changed(files, (file) => ({
          ...file,
          path: withExtension(from)(file) ? `${file.path.slice(0, -from.length)}${to}` : file.path,
        })),
      },
    }
  }),
  hard('bytes-of-larger', (draw) => {
    const { top, files } = treeOf(draw, { files: [3, 7], folders: [2, 4] })
    const sizes = files.map(({ content }) => content.length)
    const limit = draw.int(20, 90)
    const total = sizes.filter((size) => size > limit).reduce((sum, size) => sum + size, 0)
    return {
      description: `Of the files in ${top} and its subfolders, take those that are larger than ${limit} bytes. How many bytes are they together?`,
      world: filesOnly(files),
      solution: [`find ${top} -type f -size +${limit}c -exec cat {} + | wc -c`],
      goal: { kind: 'answer', answer: String(total) },
    }
  }),
  hard('distinct-contents', (draw) => {
    const { top, files } = treeOf(draw, { files: [3, 8], folders: [1, 3] })
    const contents = draw.times(draw.int(2, files.length), (index) => `${index} ${linesOf(draw, 2)}`)
    const filled = files.map((file) => ({ ...file, content: draw.one(contents) }))
    return {
      description: `Some files in ${top} and its subfolders have the same content. How many different contents are there?`,
      world: filesOnly(filled),
      solution: [`find ${top} -type f -exec md5sum {} + | cut -d' ' -f1 | sort -u | wc -l`],
      goal: { kind: 'answer', answer: String(new Set(filled.map(({ content }) => content)).size) },
    }
  }),
]
