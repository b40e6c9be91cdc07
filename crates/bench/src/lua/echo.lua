local nk = require("nakama")

nk.register_rpc(function(context, payload)
	return payload
end, "echo")
