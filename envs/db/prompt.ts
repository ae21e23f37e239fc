/**
 * The prompt of a database task, version 1.
 *
 * Invariants
 * - The texts of a version never change: a policy that was trained on one is evaluated on the same.
 */

const short = 'Solve it with execute_sql, then commit_final_answer.'

const full = `You work on a MySQL database to answer a question or to change its data.
In every turn call one tool. execute_sql runs one SQL statement, in one line, and gives you the database's raw answer.
When you are done, call commit_final_answer once: it ends the task.
If values are asked for, "answers" holds exactly these values, one string each, as they stand in the database; where there is none, "none".
If the task is to insert, update or delete, do so by execute_sql first; "answers" may then hold anything.
Put names with blanks or special characters between backticks. Every column holds text; convert where you calculate, compare or sort numbers.
Look at the data before you rely on how it is written. Long results are cut: ask for what you need.`

/** The system message. */
export function systemPrompt(form: 'short' | 'full'): string {
  return form === 'short' ? short : full
}
