// Says who it is, then how it judges each owner named by its arguments: what they leave out is its own.
// With NOBODY it first becomes a user, in a group, without rights: hidepid hides nothing from the group 0.
import { probe } from '../../../lib/process/liveness.js';
import { ownIdentity } from '../../../lib/process/own-identity.js';
import { fromJson, toJson } from './identity-json.js';

const nobody = Number(process.env.NOBODY ?? 0);
if (nobody) {
  process.setgroups!([]);
  process.setegid!(nobody);
  process.seteuid!(nobody);
}

const me = toJson(ownIdentity());
console.log(me);
for (const partial of process.argv.slice(2)) {
  const owner = { ...(JSON.parse(me) as object), ...(JSON.parse(partial) as object) };
  console.log(probe(fromJson(JSON.stringify(owner))));
}
