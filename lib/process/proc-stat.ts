/** The fields of `/proc/<id>/stat` that identify a task (a process or a thread) and tell its end; see proc(5). */
export interface ProcStat {
  /** Field 1: the task's id in the PID namespace that this `/proc` was mounted for. */
  readonly id: number;
  /** Field 3: one letter. `Z` is a zombie, `X` a task that is being removed. */
  readonly state: string;
  /** Field 20: the number of threads in the task's process that are not reaped yet. */
  readonly threads: number;
  /** Field 22: when the task started, in clock ticks (mostly of 10 ms) since boot, as decimal digits. */
  readonly start: string;
}

const FIRST_AFTER_NAME = 3;

/** Null for a text that is not a `stat` file's. */
export function parseProcStat(text: string): ProcStat | null {
  // The name is free text, `) Z 1 (` for one; behind the last ')' there are only numbers and the state's letter.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number) => fields[number - FIRST_AFTER_NAME] ?? '';
  const stat = {
    id: Number.parseInt(text, 10),
    state: field(3),
    threads: Number(field(20)),
    start: field(22),
  };
  return isComplete(stat) ? stat : null;
}

function isComplete({ id, state, threads, start }: ProcStat): boolean {
  return (
    Number.isInteger(id) && /^[A-Za-z]$/.test(state) && Number.isInteger(threads) && /^\d{1,20}$/.test(start)
  );
}
