/**
 * Packs the built package, installs the tarball's files beside a consumer, and loads it the two ways a Nest application
 * does: `import` and `require`. Run after `npm run build`.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'interlock-package-'));
const run = (command, args, cwd) => execFileSync(command, args, { cwd, encoding: 'utf8' });

try {
  const [{ filename }] = JSON.parse(
    run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], root),
  );
  run('tar', ['-xzf', filename], folder);
  // The consumer's own node_modules: the package as it was packed, everything else as it is installed here.
  mkdirSync(join(folder, 'app'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  mkdirSync(join(folder, 'app/node_modules'));
  symlinkSync(join(folder, 'package'), join(folder, 'app/node_modules/nestjs-interlock'));
  const check = `if (typeof lib.LockModule.forRoot !== 'function') throw new Error('LockModule is missing');`;
  writeFileSync(
    join(folder, 'app/load.mjs'),
    `import 'reflect-metadata';\nimport * as lib from 'nestjs-interlock';\n${check}`,
  );
  writeFileSync(
    join(folder, 'app/load.cjs'),
    `require('reflect-metadata');\nconst lib = require('nestjs-interlock');\n${check}`,
  );
  for (const script of ['load.mjs', 'load.cjs'])
    run(process.execPath, ['--preserve-symlinks', script], join(folder, 'app'));
  console.log(`${filename} loads by import and by require.`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
