-- Requires: key-names. Defines: packs. Hash packs: names of seqs -> log entries, compressed. See packs.ts.
local packs = string.gsub(c, '^({[^}]+}:[^:]+:)c:', '%1pk:')
