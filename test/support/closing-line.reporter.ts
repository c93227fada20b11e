import type { Reporter, TestModule } from 'vitest/node';

/** Ends the output with one plain line that any CI can read. */
// oxlint-disable-next-line import/no-default-export -- Vitest loads a reporter by its default export.
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    console.log(`\n${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`);
  }
}
