-- Creates duels, by a function and for matched players.

local nk = require("nakama")

nk.register_rpc(function(_, payload)
    local mode = nk.json_decode(payload).mode
    return nk.json_encode({ match_id = nk.match_create("duel", { mode = mode }) })
end, "create_duel")

nk.register_rpc(function(_, payload)
    local request = nk.json_decode(payload)
    local matches = nk.match_list(10, true, nil, 0, 2, request.query)
    local ids = {}
    for _, match in ipairs(matches) do
        table.insert(ids, match.match_id)
    end
    return nk.json_encode({ ids = ids })
end, "list_duels")

nk.register_rpc(function(_, payload)
    return nk.json_encode({ answer = nk.match_signal(nk.json_decode(payload).match_id, "hello") })
end, "signal_duel")

nk.register_matchmaker_matched(function(_, users)
    if users[1].properties.mode == "relay" then
        return nil
    end
    return nk.match_create("duel", { mode = users[1].properties.mode })
end)
