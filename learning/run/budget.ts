/**
 * Budgets of a run: the amounts that it may spend, by which runs of different arms can be compared fairly.
 *
 * Invariants
 * - [BUDGET-1] A budget of several amounts is spent when the first of them is, and exceeded when any is.
 * - An amount that is not known is taken to be spent: nothing is compared by it.
 */

/** The amounts, each counted from the publication of version 0, with their words. */
export const budgetWords = {
  updates: 'updates',
  episodes: 'training episodes',
  tokens: 'sampled tokens',
  seconds: 'seconds',
  cpuSeconds: 'CPU seconds',
} as const

export type BudgetName = keyof typeof budgetWords
const budgetNames = Object.keys(budgetWords) as BudgetName[]

/** Amounts that a run may spend; those that are absent have no bound. */
export type Budget = { readonly [Name in BudgetName]?: number | undefined }

/** Amounts that a run has spent, as far as they are known. */
export type Spending = Budget

/** True when an amount of the budget is reached. */
export function isSpent(budget: Budget, spent: Spending): boolean {
  return bounded(budget).some(([name, most]) => (spent[name] ?? Number.POSITIVE_INFINITY) >= most)
}

/** True while no amount exceeds the budget. */
export function isWithin(budget: Budget, spent: Spending): boolean {
  return bounded(budget).every(([name, most]) => (spent[name] ?? Number.POSITIVE_INFINITY) <= most)
}

/** @example budgetText({ episodes: 5000 }) // '5000 training episodes' */
export function budgetText(budget: Budget): string {
  return bounded(budget)
    .map(([name, most]) => `${most} ${budgetWords[name]}`)
    .join(', ')
}

function bounded(budget: Budget): readonly (readonly [BudgetName, number])[] {
  return budgetNames.flatMap((name) => {
    const most = budget[name]
    return most === undefined ? [] : [[name, most] as const]
  })
}
