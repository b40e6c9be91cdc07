-- Clans with a chat: created by the server, with a word filter, a limit of messages, and notifications.

local nk = require("nakama")

local CODE_INVALID_ARGUMENT = 3
local CODE_PERMISSION_DENIED = 7
local CODE_RESOURCE_EXHAUSTED = 8

local NOTIFICATION_JOINED = 101
local NOTIFICATION_ANNOUNCED = 102

local CHANNEL_GROUP = 3
local CLAN_SIZE_MAX = 30
local MESSAGES_PER_MINUTE = 5
local FORBIDDEN = { "noob", "loser" }

local ROLE_SUPERADMIN, ROLE_ADMIN = 0, 1

local function require_user(context)
    if context.user_id == nil then
        error({ "sign in first", 16 })
    end
    return context.user_id
end

-- Role of a user in a clan; nil for those who are not in it.
local function role_of(clan_id, user_id)
    for _, entry in ipairs((nk.user_groups_list(user_id, 100))) do
        if entry.group.id == clan_id then
            return entry.state
        end
    end
    return nil
end

local function members_of(clan_id)
    local members, cursor = {}, nil
    repeat
        local page
        page, cursor = nk.group_users_list(clan_id, 100, nil, cursor)
        for _, entry in ipairs(page) do
            table.insert(members, entry)
        end
    until cursor == nil or cursor == ""
    return members
end

nk.register_rpc(function(context, payload)
    local user_id = require_user(context)
    local request = nk.json_decode(payload)
    local name = request.name
    if type(name) ~= "string" or #name < 3 or #name > 20 then
        error({ "the name of a clan has 3 to 20 letters", CODE_INVALID_ARGUMENT })
    end
    local ok, clan = pcall(nk.group_create, user_id, name, user_id, "en", request.motto or "", "", true, { wins = 0 }, CLAN_SIZE_MAX)
    if not ok then
        error({ "the name is taken", CODE_INVALID_ARGUMENT })
    end
    return nk.json_encode({ clan_id = clan.id, name = clan.name })
end, "clan_create")

-- Clans are created by the function above only.
nk.register_req_before(function()
    return nil
end, "CreateGroup")

-- New members are welcomed in the chat, and the leaders are told.
nk.register_req_after(function(context, _, request)
    local clan_id = request.group_id
    if role_of(clan_id, context.user_id) == nil then
        return
    end
    local channel_id = nk.channel_id_build(nil, clan_id, CHANNEL_GROUP)
    nk.channel_message_send(channel_id, { text = "Welcome, " .. context.username .. "!" }, nil, "clan", true)
    local notifications = {}
    for _, member in ipairs(members_of(clan_id)) do
        if member.state == ROLE_SUPERADMIN or member.state == ROLE_ADMIN then
            table.insert(notifications, {
                user_id = member.user.user_id or member.user.id,
                subject = context.username .. " joined your clan",
                content = { clan_id = clan_id, user_id = context.user_id },
                code = NOTIFICATION_JOINED,
                persistent = true,
            })
        end
    end
    if #notifications > 0 then
        nk.notifications_send(notifications)
    end
end, "JoinGroup")

local function filtered(text)
    for _, word in ipairs(FORBIDDEN) do
        local pattern = string.gsub(word, "%a", function(letter)
            return "[" .. string.lower(letter) .. string.upper(letter) .. "]"
        end)
        text = string.gsub(text, pattern, string.rep("*", #word))
    end
    return text
end

-- Notes a message of a user, and returns how many there were in this minute.
local function count_message(context)
    local user_id = context.user_id
    local window_ms = (tonumber(context.env["chat_window_seconds"]) or 60) * 1000
    local minute = math.floor(nk.time() / window_ms)
    local id = { collection = "chat_limit", key = "messages", user_id = user_id }
    local objects = nk.storage_read({ id })
    local seen = objects[1] and objects[1].value or { minute = 0, count = 0 }
    if seen.minute ~= minute then
        seen = { minute = minute, count = 0 }
    end
    seen.count = seen.count + 1
    id.value, id.permission_read, id.permission_write = seen, 0, 0
    nk.storage_write({ id })
    return seen.count
end

-- Messages are checked before they are sent.
nk.register_rt_before(function(context, envelope)
    local message = envelope.channel_message_send
    local ok, content = pcall(nk.json_decode, message.content)
    if not ok or type(content.text) ~= "string" or content.text == "" then
        error({ "a message needs a text", CODE_INVALID_ARGUMENT })
    end
    if count_message(context) > MESSAGES_PER_MINUTE then
        error({ "you write too fast", CODE_RESOURCE_EXHAUSTED })
    end
    content.text = filtered(content.text)
    message.content = nk.json_encode(content)
    return envelope
end, "ChannelMessageSend")

-- Leaders announce something to all members.
nk.register_rpc(function(context, payload)
    local user_id = require_user(context)
    local request = nk.json_decode(payload)
    local role = role_of(request.clan_id, user_id)
    if role ~= ROLE_SUPERADMIN and role ~= ROLE_ADMIN then
        error({ "only leaders of the clan announce", CODE_PERMISSION_DENIED })
    end
    local told = 0
    for _, member in ipairs(members_of(request.clan_id)) do
        local id = member.user.user_id or member.user.id
        if id ~= user_id then
            nk.notification_send(id, "News of your clan", { text = request.text }, NOTIFICATION_ANNOUNCED, user_id, false)
            told = told + 1
        end
    end
    return nk.json_encode({ told = told })
end, "clan_announce")

-- The last messages of the chat, for a page outside of the game.
nk.register_rpc(function(_, payload)
    local request = nk.json_decode(payload)
    local channel_id = nk.channel_id_build(nil, request.clan_id, CHANNEL_GROUP)
    local texts = {}
    for _, message in ipairs((nk.channel_messages_list(channel_id, 20, true))) do
        local content = message.content
        if type(content) == "string" then
            content = nk.json_decode(content)
        end
        table.insert(texts, content.text)
    end
    return nk.json_encode({ texts = texts })
end, "clan_history")
