/**
 * Problems about text: count, pick, sum, sort and replace lines and columns.
 *
 * Invariants
 * - Every kind can be solved with what its description says.
 */
import type { Draw } from '../../../generated/draw.ts'
import { linesOf, nouns, people, words } from '../../../generated/words.ts'
import { changed, filesOnly, kindsAbout, type ProblemKind } from '../problem.ts'
import { folderPath, treeOf } from '../trees.ts'

const severities = ['INFO', 'WARNING', 'ERROR', 'DEBUG'] as const

interface Sale {
  readonly person: string
  readonly item: string
  readonly amount: number
}

function salesOf(draw: Draw, count: number): Sale[] {
  const persons = draw.some(people, draw.int(3, 6))
  const items = draw.some(nouns, draw.int(3, 6))
  return draw.times(count, () => ({
    person: draw.one(persons),
    item: draw.one(items),
    amount: draw.int(1, 200),
  }))
}

function tableOf(sales: readonly Sale[]): string {
  return sales.map(({ person, item, amount }) => `${person},${item},${amount}\n`).join('')
}

interface Entry {
  readonly severity: string
  readonly person: string
}

function logOf(draw: Draw, entries: readonly Entry[]): string {
  let second = draw.int(0, 3_000)
  return entries
    .map(({ severity, person }) => {
      second += draw.int(1, 90)
      const time = new Date(second * 1_000).toISOString().slice(11, 19)
      return `2024-05-0${draw.int(1, 6)}T${time} ${severity} ${person} ${linesOf(draw, 1)}`
    })
    .join('')
}

function distinct(values: readonly string[]): number {
  return new Set(values).size
}

const { easy, normal, hard } = kindsAbout('text')

export const textProblems: readonly ProblemKind[] = [
  easy('count-lines', (draw) => {
    const path = `${folderPath(draw)}/${draw.one(nouns)}.txt`
    const count = draw.int(3, 60)
    return {
      description: `How many lines does the file ${path} have?`,
      world: filesOnly([{ path, content: linesOf(draw, count) }]),
      solution: [`wc -l < ${path}`],
      goal: { kind: 'answer', answer: String(count) },
    }
  }),
  easy('nth-line', (draw) => {
    const path = `${folderPath(draw)}/${draw.one(nouns)}.txt`
    const lines = draw.times(draw.int(8, 30), () => `${draw.one(words)}-${draw.int(100, 999)}`)
    const number = draw.int(1, lines.length)
    return {
      description: `What does line ${number} of the file ${path} say? The first line is line 1.`,
      world: filesOnly([{ path, content: lines.map((line) => `${line}\n`).join('') }]),
      solution: [`sed -n ${number}p ${path}`],
      goal: { kind: 'answer', answer: lines[number - 1] ?? '' },
    }
  }),
  easy('count-matching', (draw) => {
    const path = `${folderPath(draw)}/${draw.one(nouns)}.log`
    const entries = draw.times(draw.int(10, 40), () => ({
      severity: draw.one(severities),
      person: draw.one(people),
    }))
    const wanted = draw.one(severities)
    const count = entries.filter(({ severity }) => severity === wanted).length
    return {
      description: `How many lines of ${path} contain ${wanted}?`,
      world: filesOnly([{ path, content: logOf(draw, entries) }]),
      solution: [`grep ${wanted} ${path} | wc -l`],
      goal: { kind: 'answer', answer: String(count) },
    }
  }),
  normal('distinct-column', (draw) => {
    const path = `${folderPath(draw)}/${draw.one(nouns)}.csv`
    const sales = salesOf(draw, draw.int(10, 40))
    const column = draw.int(1, 2)
    const values = sales.map(({ person, item }) => (column === 1 ? person : item))
    return {
      description: `The columns of ${path} are separated by commas. How many different values does column ${column} have?`,
      world: filesOnly([{ path, content: tableOf(sales) }]),
      solution: [`cut -d, -f${column} ${path} | sort -u | wc -l`],
      goal: { kind: 'answer', answer: String(distinct(values)) },
    }
  }),
  normal('sum-column', (draw) => {
    const path = `${folderPath(draw)}/${draw.one(nouns)}.csv`
    const sales = salesOf(draw, draw.int(10, 40))
    return {
      description: `The columns of ${path} are separated by commas. What is the sum of column 3?`,
      world: filesOnly([{ path, content: tableOf(sales) }]),
      solution: [`awk -F, '{sum += $3} END {print sum}' ${path}`],
      goal: { kind: 'answer', answer: String(sales.reduce((sum, { amount }) => sum + amount, 0)) },
    }
  }),
  normal('files-with-word', (draw) => {
    const { top, files } = treeOf(draw, { files: [2, 6], folders: [1, 4] })
    const word = `${draw.one(nouns)}${draw.int(10, 99)}`
    const marked = files.map((file) =>
      draw.chance(0.4) ? { ...file, content: `${file.content}${word} ${linesOf(draw, 1)}` } : file,
    )
    const count = marked.filter(({ content }) => content.includes(word)).length
    return {
      description: `How many files in ${top} and its subfolders contain the word ${word}?`,
      world: filesOnly(marked),
      solution: [`grep -rl ${word} ${top} | wc -l`],
      goal: { kind: 'answer', answer: String(count) },
    }
  }),
  normal('sort-unique', (draw) => {
    const below = folderPath(draw)
    const [from, to] = draw.some(nouns, 2).map((name) => `${below}/${name}.txt`)
    const choice = draw.some(words, draw.int(4, 12))
    const lines = draw.times(draw.int(12, 30), () => draw.one(choice))
    const source = { path: from ?? '', content: lines.map((line) => `${line}\n`).join('') }
    const sorted = [...new Set(lines)].sort().map((line) => `${line}\n`)
    return {
      description: `Write the lines of ${from} to ${to}, sorted alphabetically and each line only once. Leave ${from} as it is.`,
      world: filesOnly([source]),
      solution: [`sort -u ${from} > ${to}`],
      goal: { kind: 'files', below, files: [source, { path: to ?? '', content: sorted.join('') }] },
    }
  }),
  hard('most-frequent', (draw) => {
    const top = folderPath(draw)
    const [winner = '', ...others] = draw.some(people, draw.int(3, 6))
    const wanted = draw.one(severities)
    // No one else has more than two of the wanted lines, so the winner's three are the most.
    const entries = [
      ...draw.times(draw.int(3, 5), () => ({ severity: wanted, person: winner })),
      ...others.flatMap((person) => draw.times(draw.int(0, 2), () => ({ severity: wanted, person }))),
      ...draw.times(draw.int(10, 25), () => ({
        severity: draw.one(severities.filter((severity) => severity !== wanted)),
        person: draw.one(others),
      })),
    ]
    const mixed = draw.some(entries, entries.length)
    const half = Math.ceil(mixed.length / 2)
    const files = [mixed.slice(0, half), mixed.slice(half)].map((part, index) => ({
      path: `${top}/${draw.one(nouns)}-${index}.log`,
      content: logOf(draw, part),
    }))
    return {
      description: `The lines of the .log files in ${top} hold time, severity, user and a message. Which user has the most lines of severity ${wanted} in all files together?`,
      world: filesOnly(files),
      solution: [
        `cat ${top}/*.log | awk '$2 == "${wanted}" {print $3}' | sort | uniq -c | sort -rn | head -n 1 | awk '{print $2}'`,
      ],
      goal: { kind: 'answer', answer: winner },
    }
  }),
  hard('conditional-sum', (draw) => {
    const top = folderPath(draw)
    const sales = salesOf(draw, draw.int(20, 50))
    const { person } = draw.one(sales)
    const limit = draw.int(20, 120)
    const cut = draw.int(5, 15)
    const files = [sales.slice(0, cut), sales.slice(cut)].map((part, index) => ({
      path: `${top}/${draw.one(nouns)}-${index}.csv`,
      content: tableOf(part),
    }))
    const total = sales
      .filter((sale) => sale.person === person && sale.amount > limit)
      .reduce((sum, { amount }) => sum + amount, 0)
    return {
      description: `The .csv files in ${top} have the columns person, item and amount. What is the sum of the amounts over ${limit} of ${person}, over all files?`,
      world: filesOnly(files),
      solution: [
        `cat ${top}/*.csv | awk -F, '$1 == "${person}" && $3 > ${limit} {sum += $3} END {print sum + 0}'`,
      ],
      goal: { kind: 'answer', answer: String(total) },
    }
  }),
  hard('replace-word', (draw) => {
    const { top, files } = treeOf(draw, { files: [2, 5], folders: [1, 3], extensions: ['conf', 'txt'] })
    const [from = '', to = ''] = draw.some(nouns, 2).map((noun) => `${noun}_${draw.int(10, 99)}`)
    const marked = files.map((file) => ({
      ...file,
      content: `${file.content}host=${draw.chance(0.6) ? from : draw.one(nouns)}\nbackup=${from}\n`,
    }))
    return {
      description: `In every .conf file in ${top} and its subfolders, replace ${from} by ${to}. Leave the other files as they are.`,
      world: filesOnly(marked),
      solution: [`find ${top} -type f -name '*.conf' -exec sed -i 's/${from}/${to}/g' {} +`],
      goal: {
        kind: 'files',
        below: top,
        files: changed(marked, (file) =>
          file.path.endsWith('.conf') ? { ...file, content: file.content.replaceAll(from, to) } : file,
        ),
      },
    }
  }),
]
