-- Daily rewards: a reward per day, larger with every day in a row, paid into the wallet.

local nk = require("nakama")

local COLLECTION = "reward"
local KEY = "daily"

-- Rewards of a week; then the last one repeats.
local REWARDS = {
    { coins = 100 },
    { coins = 150 },
    { coins = 200 },
    { coins = 250, gems = 1 },
    { coins = 300 },
    { coins = 350 },
    { coins = 500, gems = 5 },
}
local STARTING_COINS = 1000

local CODE_INVALID_ARGUMENT = 3
local CODE_PERMISSION_DENIED = 7
local CODE_FAILED_PRECONDITION = 9

-- Number of the day. The length of a day can be changed by the environment, to try the rewards out.
local function today(context)
    local day_seconds = tonumber(context.env["day_seconds"]) or 86400
    return math.floor(nk.time() / 1000 / day_seconds)
end

local function require_user(context)
    if context.user_id == nil or context.user_id == "" then
        error({ "sign in first", CODE_PERMISSION_DENIED })
    end
    return context.user_id
end

-- Reads the progress of a user, with the version for the next write.
local function read_progress(user_id)
    local objects = nk.storage_read({
        { collection = COLLECTION, key = KEY, user_id = user_id },
    })
    for _, object in ipairs(objects) do
        return object.value, object.version
    end
    return { last_day = 0, streak = 0, total = 0 }, "*"
end

local function write_progress(user_id, progress, version)
    nk.storage_write({
        {
            collection = COLLECTION,
            key = KEY,
            user_id = user_id,
            value = progress,
            version = version,
            permission_read = 1,
            permission_write = 0,
        },
    })
end

local function reward_of(streak)
    return REWARDS[math.min(streak, #REWARDS)]
end

local function next_streak(progress, day)
    if progress.last_day == day - 1 then
        return progress.streak + 1
    end
    return 1
end

local function status(context, _)
    local user_id = require_user(context)
    local progress = read_progress(user_id)
    local day = today(context)
    local streak = next_streak(progress, day)
    return nk.json_encode({
        can_claim = progress.last_day ~= day,
        today = day,
        streak = progress.streak,
        reward = reward_of(streak),
    })
end
nk.register_rpc(status, "rewards_status")

local function claim(context, _)
    local user_id = require_user(context)
    local day = today(context)
    local progress, version = read_progress(user_id)
    if progress.last_day == day then
        error({ "today's reward was claimed already", CODE_FAILED_PRECONDITION })
    end
    progress.streak = next_streak(progress, day)
    progress.last_day = day
    progress.total = progress.total + 1
    local reward = reward_of(progress.streak)
    -- The version refuses the second of two claims at once, before coins are paid.
    local ok, problem = pcall(write_progress, user_id, progress, version)
    if not ok then
        nk.logger_warn("claim refused: " .. tostring(problem), { user_id = user_id })
        error({ "today's reward was claimed already", CODE_FAILED_PRECONDITION })
    end
    local metadata = { reason = "daily reward", day = day, streak = progress.streak }
    local updated = nk.wallet_update(user_id, reward, metadata, true)
    return nk.json_encode({ streak = progress.streak, reward = reward, wallet = updated })
end
nk.register_rpc(claim, "rewards_claim")

local function history(context, payload)
    local user_id = require_user(context)
    local limit = 10
    if payload ~= "" then
        limit = nk.json_decode(payload).limit or limit
    end
    if type(limit) ~= "number" or limit < 1 or limit > 100 then
        error({ "limit must be within 1 and 100", CODE_INVALID_ARGUMENT })
    end
    local entries = {}
    for _, entry in ipairs((nk.wallet_ledger_list(user_id, limit))) do
        table.insert(entries, { changeset = entry.changeset, reason = entry.metadata.reason })
    end
    return nk.json_encode({ entries = entries })
end
nk.register_rpc(history, "rewards_history")

-- Support gives rewards to players: over the HTTP key only.
local function grant(context, payload)
    if context.user_id ~= nil then
        error({ "only servers grant rewards", CODE_PERMISSION_DENIED })
    end
    local request = nk.json_decode(payload)
    nk.wallet_update(request.user_id, { coins = request.coins }, { reason = "support" }, true)
    nk.notification_send(request.user_id, "A gift for you", { coins = request.coins }, 1, nil, true)
    return nk.json_encode({ granted = true })
end
nk.register_rpc(grant, "rewards_grant")

-- New players start with some coins.
nk.register_req_after(function(_, session, _)
    if not session.created then
        return
    end
    local claims = nk.json_decode(nk.base64url_decode(string.match(session.token, "%.([^.]+)%."), false))
    nk.wallet_update(claims.uid, { coins = STARTING_COINS }, { reason = "welcome" }, true)
end, "AuthenticateDevice")

-- Clients must not write their own progress.
nk.register_req_before(function(_, payload)
    for _, object in ipairs(payload.objects or {}) do
        if object.collection == COLLECTION then
            error({ "the server writes rewards", CODE_PERMISSION_DENIED })
        end
    end
    return payload
end, "WriteStorageObjects")
