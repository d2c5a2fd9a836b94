%% Runs inside the broker: writes to a socket how many messages of a queue are not yet settled, every
%% 5 ms. It asks the queue itself (of a quorum queue its state machine), so that ready and unacked messages count alike and a
%% message is gone when its ack has been applied: the same rule for every contestant. An expression,
%% for `tests/broker/node eval`; PORT is put in. A line each: it reads "watch QUEUE", "stop" and
%% "delete QUEUE", and writes "<microseconds> <messages>", "stopped", "deleted", and at its end
%% "failed WHY".
spawn(fun() ->
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, PORT, [list, {packet, line}, {nodelay, true}]),
    Look = fun(Name) ->
        rabbit_amqqueue:lookup(rabbit_misc:r(<<"/">>, queue, list_to_binary(string:trim(Name))))
    end,
    Count = fun(Queue) ->
        case amqqueue:get_type(Queue) of
            rabbit_classic_queue ->
                [{messages, N}] = rabbit_amqqueue:info(Queue, [messages]),
                N;
            _ ->
                case ra:leader_query(amqqueue:get_pid(Queue), fun rabbit_fifo:query_messages_total/1) of
                    {ok, {_, N}, _} -> N;
                    _ -> -1
                end
        end
    end,
    %% The write-ahead log that all quorum queues share may end when one of them is deleted (wal_down); its supervisor starts
    %% it again, and the next attempt succeeds.
    Delete = fun Again(Name, Attempts) ->
        case Look(Name) of
            {ok, Q} ->
                Result = (catch rabbit_amqqueue:delete(Q, false, false, <<"bench">>)),
                case Result of
                    {ok, _} -> ok;
                    _ when Attempts > 1 -> timer:sleep(100), Again(Name, Attempts - 1);
                    _ -> error({not_deleted, Name, Result})
                end;
            _ -> ok
        end
    end,
    try (fun Watch(Queue) ->
        receive
            {tcp, Socket, "watch " ++ Name} ->
                {ok, Q} = Look(Name),
                Watch(Q);
            {tcp, Socket, "stop\n"} ->
                gen_tcp:send(Socket, "stopped\n"),
                Watch(none);
            {tcp, Socket, "delete " ++ Name} ->
                Delete(Name, 100),
                gen_tcp:send(Socket, "deleted\n"),
                Watch(none);
            {tcp_closed, Socket} -> ok
        after (case Queue of none -> infinity; _ -> 5 end) ->
            N = Count(Queue),
            gen_tcp:send(Socket, io_lib:format("~b ~b~n", [erlang:monotonic_time(microsecond), N])),
            Watch(Queue)
        end
    end)(none)
    catch
        Class:Reason -> gen_tcp:send(Socket, io_lib:format("failed ~0p~n", [{Class, Reason}]))
    end
end)
