-- Functions that the tests call, in the way of modules of existing servers.

local nk = require("nakama")

nk.register_rpc(function(context, payload)
    return nk.json_encode({
        payload = payload,
        user_id = context.user_id,
        username = context.username,
        query = context.query_params,
        mode = context.execution_mode,
        colour = context.env["colour"],
        is_socket = context.lang ~= nil,
    })
end, "WhoAmI")

nk.register_rpc(function(_, payload)
    if payload == "" then
        error("plain error")
    end
    local request = nk.json_decode(payload)
    error({ request.message, request.code })
end, "fail")

nk.register_rpc(function(context, payload)
    local request = nk.json_decode(payload)
    local content = { amount = request.amount }
    nk.notification_send(context.user_id, "Reward", content, 7, nil, request.persistent)
    return "{}"
end, "notify_me")

local STREAM_MODE = 123

nk.register_rpc(function(context, payload)
    local stream = { mode = STREAM_MODE, label = nk.json_decode(payload).label }
    nk.stream_user_join(context.user_id, context.session_id, stream, false, false, "watching")
    return nk.json_encode({ count = nk.stream_count(stream) })
end, "stream_join")

nk.register_rpc(function(_, payload)
    local request = nk.json_decode(payload)
    nk.stream_send({ mode = STREAM_MODE, label = request.label }, nk.json_encode({ text = request.text }))
    return "{}"
end, "stream_say")

nk.run_once(function()
    nk.leaderboard_create("script_best", true, "desc", "best", nil, { made_by = "script" })
    nk.leaderboard_create("script_total", false, "asc", "incr", "0 0 * * *", {})
end)

nk.register_rpc(function(context, payload)
    local score = nk.json_decode(payload).score
    local record = nk.leaderboard_record_write("script_best", context.user_id, context.username, score, 1, { weapon = "bow" })
    return nk.json_encode({ score = record.score, rank = record.rank })
end, "submit_score")

-- Usernames of new accounts are lower case.
nk.register_req_before(function(_, payload)
    if payload.username ~= nil then
        payload.username = string.lower(payload.username)
    end
    return payload
end, "AuthenticateCustom")

nk.register_req_before(function(context)
    error({ "accounts stay, " .. context.username, 7 })
end, "DeleteAccount")

nk.register_req_before(function()
    return nil
end, "ListFriends")

-- Messages of a room are shouted.
nk.register_rt_before(function(_, envelope)
    local content = nk.json_decode(envelope.channel_message_send.content)
    content.text = string.upper(content.text)
    envelope.channel_message_send.content = nk.json_encode(content)
    return envelope
end, "ChannelMessageSend")
