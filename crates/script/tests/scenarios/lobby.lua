-- Finds or creates matches of tictactoe, and makes them for players of the matchmaker.

local nk = require("nakama")

local CODE_INVALID_ARGUMENT = 3

nk.run_once(function()
    nk.leaderboard_create("tictactoe_wins", true, "desc", "incr", nil, {})
end)

-- Returns open matches of the wanted speed, or a new one.
nk.register_rpc(function(context, payload)
    if context.user_id == nil then
        error({ "sign in first", 16 })
    end
    local request = payload == "" and {} or nk.json_decode(payload)
    if request.fast ~= nil and type(request.fast) ~= "boolean" then
        error({ "fast must be true or false", CODE_INVALID_ARGUMENT })
    end
    local fast = request.fast == true
    local query = string.format("+label.game:tictactoe +label.open:1 +label.fast:%d", fast and 1 or 0)
    local ids = {}
    for _, match in ipairs(nk.match_list(10, true, nil, 0, 1, query)) do
        table.insert(ids, match.match_id)
    end
    if #ids == 0 then
        table.insert(ids, nk.match_create("tictactoe", { fast = fast }))
    end
    return nk.json_encode({ match_ids = ids })
end, "find_match")

nk.register_rpc(function(_, payload)
    local request = nk.json_decode(payload)
    return nk.match_signal(request.match_id, "state")
end, "match_state")

nk.register_matchmaker_matched(function(_, users)
    for _, user in ipairs(users) do
        if user.properties.mode ~= "tictactoe" then
            return nil
        end
    end
    return nk.match_create("tictactoe", { fast = users[1].properties.fast == 1, invited = users })
end)
