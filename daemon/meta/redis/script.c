/* What Redis runs. Times are those of its clock, in milliseconds. */
#include "daemon/meta/redis/script.h"

/* ARGV: incarnation, run of the server, number of the host, its fence. Who is not in this cluster, in this run of the server,
 * learns so, and nothing is done. */
#define CHECK \
        "local C, P, N, F = KEYS[1], KEYS[2], ARGV[3], ARGV[4]\n" \
        "local c = redis.call('HMGET', C, 'incarnation', 'run', 'changes', 'version', 'overruled')\n" \
        "if not c[1] then return {'EMPTY'} end\n" \
        "if c[1] ~= ARGV[1] then return {'OTHER', c[1]} end\n" \
        "if c[2] ~= ARGV[2] then return {'RUN'} end\n" \
        "local L = P .. ':lease:' .. N\n"

/* A lease names who has it: epoch, instance and connection. What came by an earlier connection, or from an earlier daemon, and is
 * read late, does nothing. */
#define FENCE "if redis.call('GET', L) ~= F then return {'FENCED'} end\n"

/* Rows of the host table are "EPOCH NAME ADDRESS", and " SUCCESSOR" of a host that drains. */
#define ROWS \
        "local DAY, H = 86400000, P .. ':hosts'\n" \
        "local function row(n)\n" \
        "  local e, who = string.match(redis.call('HGET', H, n) or '', '^(%d+) (%S+)')\n" \
        "  return tonumber(e), who\n" \
        "end\n" \
        "local function set_row(n, epoch, rest)\n" \
        "  local text, _, old = string.format('%d %s', epoch, rest), row(n)\n" \
        "  local name = string.match(rest, '^%S+')\n" \
        "  if redis.call('HGET', H, n) == text and redis.call('HGET', P .. ':numbers', name) == n then return end\n" \
        "  redis.call('HSET', H, n, text)\n" \
        "  if old and old ~= name and redis.call('HGET', P .. ':numbers', old) == n then\n" \
        "    redis.call('HDEL', P .. ':numbers', old)\n" \
        "  end\n" \
        "  redis.call('HSET', P .. ':numbers', name, n)\n" \
        "  redis.call('ZADD', P .. ':changed', redis.call('HINCRBY', C, 'changes', 1), n)\n" \
        "end\n"

/* ARGV: incarnation, run, number, epoch, instance, connection, lease in ms, name, address, mode, confirmed epoch, version.
 * A lease is kept for a day after its end, so that a number is free once its lease is gone. */
static const char join[] =
        "local C, P = KEYS[1], KEYS[2]\n"
        "local inc, run, N, epoch, instance, serial = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6])\n"
        "local lease, name, mode, confirmed = tonumber(ARGV[7]), ARGV[8], ARGV[10], tonumber(ARGV[11])\n"
        ROWS
        "local t = redis.call('TIME')\n"
        "local now = t[1] * 1000 + math.floor(t[2] / 1000)\n"
        "local c = redis.call('HMGET', C, 'incarnation', 'run', 'settled')\n"
        "local settled = tonumber(c[3] or 0)\n"
        "local function settle()\n"
        "  settled = now + 2 * lease\n"
        "  redis.call('HSET', C, 'run', run, 'settled', string.format('%d', settled))\n"
        "end\n"
        "local function lives(p, n) return redis.call('PTTL', p .. ':lease:' .. n) > DAY end\n"
        "local function somebody(p)\n"
        "  for _, n in ipairs(redis.call('HKEYS', p .. ':hosts')) do if lives(p, n) then return n end end\n"
        "end\n"
        "if mode == 'new' then\n"
        "  if not c[1] then return {'EMPTY'} end\n"
        "  if c[1] ~= inc then return {'OTHER', c[1]} end\n"
        "  if c[2] ~= run then return {'UNCONFIRMED'} end\n"
        "  if settled > now then return {'SETTLING', settled - now} end\n"
        "  if not somebody(P) then return {'UNCONFIRMED'} end\n"
        "elseif mode == 'found' then\n"
        "  if c[1] and c[2] ~= run then settle() end\n"
        "  if settled > now then return {'SETTLING', settled - now} end\n"
        "  if c[1] and somebody(C .. ':' .. c[1]) then return {'EXISTS', c[1]} end\n"
        "  local old = C .. ':' .. (c[1] or '')\n"
        "  redis.call('DEL', C, old .. ':hosts', old .. ':numbers', old .. ':changed')\n"
        "  redis.call('HSET', C, 'incarnation', inc, 'run', run, 'changes', 0, 'version', 0)\n"
        "  settled = 0\n"
        "else\n"
        "  if c[1] and c[1] ~= inc then return {'OTHER', c[1]} end\n"
        "  local e, who = row(N)\n"
        "  if e and who ~= name and e > confirmed then return {'LOST', who} end\n"
        "  if e and who == name and e > epoch then return {'EPOCH', e} end\n"
        "  local ve, vi, vs = string.match(redis.call('GET', P .. ':lease:' .. N) or '', '^(%d+) (%x+) (%d+)$')\n"
        "  if vi == instance and tonumber(vs) > serial then return {'FENCED'} end\n"
        "  if vi and vi ~= instance and tonumber(ve) > epoch then return {'EPOCH', ve} end\n"
        "  if vi and vi ~= instance and tonumber(ve) == epoch and tonumber(vs) > 0 then return {'CLONE'} end\n"
        "  if not c[1] then redis.call('HSET', C, 'incarnation', inc, 'version', 0) end\n"
        "  if c[2] ~= run or not e then settle() end\n"
        "end\n"
        "if mode ~= 'member' then\n"
        "  N = redis.call('HGET', P .. ':numbers', name)\n"
        "  for _, n in ipairs(N and {} or redis.call('HKEYS', H)) do\n" /* somebody may have removed that key */
        "    local _, who = row(n)\n"
        "    if who == name then N = n end\n"
        "  end\n"
        "  if N and lives(P, N) then return {'INUSE', N} end\n"
        "  local top = 0\n"
        "  for _, n in ipairs(N and {} or redis.call('HKEYS', H)) do\n"
        "    if redis.call('EXISTS', P .. ':lease:' .. n) == 0 then N = n break end\n"
        "    top = math.max(top, tonumber(n))\n"
        "  end\n"
        "  if not N and top >= 65534 then return {'FULL'} end\n"
        "  N = N or string.format('%d', top + 1)\n"
        "  epoch = math.max(epoch, (row(N) or 0) + 1)\n"
        "end\n"
        "if tonumber(redis.call('HGET', C, 'version') or 0) < tonumber(ARGV[12]) then\n"
        "  redis.call('HSET', C, 'version', ARGV[12])\n"
        "end\n"
        "set_row(N, epoch, name .. ' ' .. ARGV[9])\n"
        "redis.call('SET', P .. ':lease:' .. N, string.format('%d %s %d', epoch, instance, serial), 'PX', lease + DAY)\n"
        "return {'OK', N, string.format('%d', epoch), math.max(0, settled - now)}\n";

/* ARGV: lease and a day, in ms. */
static const char beat[] =
        CHECK
        "if redis.call('GETEX', L, 'PX', ARGV[5]) ~= F then return {'FENCED'} end\n"
        "return {'OK', c[3] or '0', c[4] or '0', c[5] or '0'}\n";

/* ARGV: the last change that is known, how many at most. */
static const char hosts[] =
        CHECK FENCE
        "local m = redis.call('ZRANGEBYSCORE', P .. ':changed', '(' .. ARGV[5], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[6])\n"
        "local out = {'OK', m[#m] or c[3] or '0'}\n"
        "for i = 1, #m, 2 do\n"
        "  out[#out + 1] = m[i]\n"
        "  out[#out + 1] = redis.call('HGET', P .. ':hosts', m[i]) or ''\n"
        "end\n"
        "return out\n";

/* ARGV: triples of number, epoch, "name address". Who is put back is not there: its number is free in a day. Who asks may say
 * something else of itself. */
static const char restore[] =
        CHECK FENCE ROWS
        "for i = 5, #ARGV, 3 do\n"
        "  local n, e = ARGV[i], tonumber(ARGV[i + 1])\n"
        "  if (row(n) or -1) < e or (n == N and row(n) == e) then\n"
        "    set_row(n, e, ARGV[i + 2])\n"
        "    redis.call('SET', P .. ':lease:' .. n, string.format('%d 0 0', e), 'PX', DAY, 'NX')\n"
        "  end\n"
        "end\n"
        "return {'OK'}\n";

/* A binding is "HOST EPOCH ID VERSION RUN", of the host that keeps it: the home of the object, or who took over from it. It is
 * absent where that has another epoch, or which was there before the server began anew, or is of another type. Whether one is
 * absent is known by the host table: who has a lease, and no row there, puts it back first. */
#define BOUND \
        ROWS \
        "if not row(N) then return {'EMPTY'} end\n" \
        "local function bound(k)\n" \
        "  local text = redis.pcall('GET', k)\n" \
        "  if type(text) ~= 'string' then return end\n" \
        "  local h, e, id, version, run = string.match(text, '^(%d+) (%d+) (%x+) (%d+) (%S+)$')\n" \
        "  if not h or run ~= c[2] or (row(h)) ~= tonumber(e) then return end\n" \
        "  return string.format('%s %s %s', h, e, id), version\n" \
        "end\n"

/* ARGV: what, TENANT/NAME, id as "HOST EPOCH ID" of who asks; of 'take', the same of who kept it so far. */
static const char name[] =
        CHECK FENCE BOUND
        "local what, K, id = ARGV[5], P .. ':name:' .. ARGV[6], ARGV[7]\n"
        "local is, version = bound(K)\n"
        "if what == 'bind' and not is then\n"
        "  version = redis.call('HINCRBY', C, 'version', 1)\n"
        "  redis.call('SET', K, string.format('%s %d %s', id, version, c[2]), 'PX', DAY)\n"
        "  return {'OK', id, version}\n"
        "end\n"
        "if not is then return {'NOTFOUND'} end\n"
        "if what == 'take' and is == ARGV[8] then\n"
        "  version = redis.call('HINCRBY', C, 'version', 1)\n"
        "  redis.call('SET', K, string.format('%s %d %s', id, version, c[2]), 'PX', DAY)\n"
        "  return {'OK', id, version}\n"
        "end\n"
        "if what ~= 'resolve' and is ~= id then return {'TAKEN', is, version} end\n"
        "if what == 'unbind' then redis.call('DEL', K) end\n"
        "return {'OK', is, version}\n";

/* ARGV: what, triples of TENANT/NAME, id, version. Answers who is not kept: its place, and what the name is bound to. */
static const char names[] =
        CHECK FENCE BOUND
        "local out, put, overruled = {'OK'}, false, false\n"
        "for i = 6, #ARGV, 3 do\n"
        "  local K, id, mine = P .. ':name:' .. ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])\n"
        "  local is, version = bound(K)\n"
        "  if is == id then redis.call('PEXPIRE', K, DAY)\n"
        "  elseif ARGV[5] == 'put' and (not is or tonumber(version) > mine) then\n"
        "    redis.call('SET', K, string.format('%s %d %s', id, mine, c[2]), 'PX', DAY)\n"
        "    put, overruled = true, overruled or is\n"
        "  else\n"
        "    out[#out + 1] = (i - 6) / 3\n"
        "    out[#out + 1] = is or ''\n"
        "    out[#out + 1] = version or 0\n"
        "  end\n"
        "end\n"
        "if put then redis.call('HINCRBY', C, 'version', 1) end\n" /* who waits for one of them asks again */
        "if overruled then redis.call('HINCRBY', C, 'overruled', 1) end\n" /* whose it was looks again at what it has */
        "return out\n";

static const char *const texts[] = {
        [PW_REDIS_JOIN] = join,       [PW_REDIS_BEAT] = beat, [PW_REDIS_HOSTS] = hosts,
        [PW_REDIS_RESTORE] = restore, [PW_REDIS_NAME] = name, [PW_REDIS_NAMES] = names,
};

_Static_assert(sizeof texts / sizeof *texts == PW_REDIS_SCRIPTS, "each script has a text");

const char *pw_redis_script_text(enum pw_redis_script script)
{
        return texts[script];
}
