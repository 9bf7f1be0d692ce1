-- Whole sessions in Neovim, by the configurations of the page. Ends with 1 if anything is not as it should be.
local dap = require("dap")
local widgets = require("dap.ui.widgets")
local log = assert(io.open(vim.env.JUDGE_LOG, "w"))

-- What Neovim would have shown as a warning or an error.
local warnings = {}
vim.notify = function(text, level)
  if (level or 0) >= vim.log.levels.WARN then table.insert(warnings, text) end
end

local function equal(got, wanted, what)
  if not vim.deep_equal(got, wanted) then
    error(("%s: expected %s, got %s"):format(what, vim.inspect(wanted), vim.inspect(got)), 2)
  end
end

local function contains(text, part, what)
  if not text:find(part, 1, true) then error(("%s: expected %q in:\n%s"):format(what, part, text), 2) end
end

local function await(holds, what)
  if not vim.wait(30000, holds, 10) then
    error(("%s: this did not happen within 30 s; warnings: %s"):format(what, vim.inspect(warnings)), 2)
  end
end

local function type_keys(keys)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, true, true), "t", false)
end

-- Counts the stops whose tensors are there.
local shown = 0
dap.listeners.after.scopes.judge = function() shown = shown + 1 end

-- Does something that lets a run go on, and waits until it stops at this frame.
local function stops_at(frame, what, act)
  local before = shown
  act()
  await(function() return shown > before end, what)
  equal(dap.session().current_frame.name, frame, what)
end

local function command(name) return function() vim.cmd(name) end end

-- Returns what the console of nvim-dap has.
local function console()
  local buffer = vim.fn.bufnr("dap-repl")
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
end

-- Evaluates a text at the console.
local function evaluates_to(expression, result)
  local before = #console()
  require("dap.repl").execute(expression)
  local function answer() return console():sub(before + 1) end
  vim.wait(5000, function() return answer():find(result, 1, true) end, 10)
  contains(answer(), result, expression)
end

-- Returns the text of one of nvim-dap's views, when it has this.
local function view(widget, part, what)
  local window = vim.api.nvim_get_current_win()
  local opened = widgets.sidebar(widget)
  opened.open()
  local function text() return table.concat(vim.api.nvim_buf_get_lines(opened.buf, 0, -1, false), "\n") end
  vim.wait(5000, function() return text():find(part, 1, true) end, 10)
  contains(text(), part, what)
  local all = text()
  opened.close()
  vim.api.nvim_set_current_win(window)
  return all
end

local function line_of(text)
  local line = vim.fn.search("\\V" .. text, "cw")
  assert(line > 0, "the buffer has no " .. text)
  return line
end

-- Sees that all breakpoints were accepted, and how many there are.
local function breakpoints(count)
  vim.wait(500, function() return false end)
  dap.list_breakpoints(false)
  local list = vim.fn.getqflist()
  equal(#list, count, "breakpoints")
  for _, breakpoint in ipairs(list) do
    assert(not breakpoint.text:find("Rejected"), breakpoint.text)
  end
end

local function ends(what)
  await(function() return dap.session() == nil end, what)
  equal(vim.tbl_count(dap.sessions()), 0, "sessions")
end

-- Starts one of the configurations of the page, which are numbered as Neovim shows them.
local function start(file, number, typed)
  vim.cmd("silent edit " .. file)
  if number then type_keys(number .. "<CR>" .. (typed and typed .. "<CR>" or "")) end
  vim.cmd("DapContinue")
end

local function model_at_its_first_operator()
  stops_at("before /conv1/Conv (Conv)", "entry", function() start("digits_cnn.onnx", 1) end)
  equal(vim.fn.fnamemodify(vim.api.nvim_buf_get_name(0), ":t"), "digits_cnn.onnx (operators)", "the listing")
  equal(vim.fn.line("."), 1, "its line")
  view(widgets.scopes, "input[0]: float32 [1, 1, 8, 8]  image", "scopes")
  vim.cmd("DapDisconnect")
  ends("the session ends when Neovim disconnects")
end

local function model_with_breakpoints()
  stops_at("before /conv1/Conv (Conv)", "entry", function() start("digits_cnn.onnx", 2, "--input=digits_cnn.input.image.npy") end)
  line_of("/pool2/MaxPool:")
  vim.cmd("DapToggleBreakpoint")
  breakpoints(1)
  stops_at("before /pool2/MaxPool (MaxPool)", "a breakpoint in the listing", command("DapContinue"))
  equal(vim.fn.line("."), 7, "the line of the operator")
  local scopes = view(widgets.scopes, "kernel_shape: [2, 2]", "scopes")
  contains(scopes, "input[0]: float32 [8, 16, 8, 8]  /relu2/Relu_output_0", "scopes")
  view(widgets.frames, "run 0 of digits_cnn", "frames")
  view(widgets.threads, "run 0 of digits_cnn", "threads")
  stops_at("after /pool2/MaxPool (MaxPool)", "step out", command("DapStepOut"))
  evaluates_to("absmax(output[0])", "3.86978")
  evaluates_to("output[0][0, 0, 0]", "float32 [4]")
  evaluates_to("nothing", 'there is no value("nothing") here')
  stops_at("before /conv3/Conv (Conv)", "step over", command("DapStepOver"))
  stops_at("before /bn3/BatchNormalization (BatchNormalization)", "step into", command("DapStepInto"))
  line_of("/relu3/Relu:")
  dap.set_breakpoint("max(output[0]) > 1e9")
  line_of("/pool3/MaxPool:")
  dap.set_breakpoint("max(output[0]) > 0")
  breakpoints(3)
  stops_at("after /pool3/MaxPool (MaxPool)", "the condition that holds", command("DapContinue"))
  vim.cmd("DapClearBreakpoints")
  breakpoints(0)
  vim.cmd("DapContinue")
  ends("the session ends with the run")
  contains(console(), "Run 0 ended: probabilities float32 [8, 10]", "console")
end

local function first_nan()
  stops_at("before log (Log)", "entry", function() start("nan.onnx", 2, "--input=nan.input.x.npy") end)
  dap.set_exception_breakpoints({ "nan" })
  stops_at("after log (Log)", "the first NaN", command("DapContinue"))
  local buffer, messages = vim.api.nvim_get_current_buf(), {}
  await(function()
    messages = vim.diagnostic.get(buffer)
    return #messages > 0
  end, "an exception is shown at its line")
  contains(messages[1].message, "output[0] b has 1 NaN and 1 infinite", "the exception")
  vim.cmd("DapTerminate")
  ends("the session ends while the run is stopped")
end

local function program()
  vim.cmd("silent edit train.py")
  local line = line_of("return x + torch.relu")
  vim.cmd("DapToggleBreakpoint")
  stops_at("before 0.linear/aten.addmm.default (aten.addmm.default)", "a breakpoint in the program", function() start("train.py") end)
  equal({ vim.fn.expand("%:t"), vim.fn.line(".") }, { "train.py", line }, "the line of the program")
  breakpoints(1)
  view(widgets.scopes, "float32 [2, 8]", "scopes")
  view(widgets.frames, "<module>:18", "frames")
  evaluates_to("y.shape, step", "(torch.Size([2, 8]), 0)")
  vim.cmd("DapClearBreakpoints")
  line_of("return x + torch.relu")
  dap.set_breakpoint("max(output[0]) > 1e9")
  breakpoints(1)
  vim.cmd("DapContinue")
  ends("the session ends with the program")
  contains(console(), "the program is done", "console")
  vim.cmd("DapClearBreakpoints")
  line_of("return x + torch.relu")
  vim.cmd("DapToggleBreakpoint")
  breakpoints(1)
  stops_at("before 0.linear/aten.addmm.default (aten.addmm.default)", "another session", function() start("train.py") end)
  vim.cmd("DapTerminate")
  ends("the session ends while the program is stopped")
end

local sessions = {
  { "a model stops at its first operator and is left", model_at_its_first_operator },
  { "a model stops at breakpoints of its listing", model_with_breakpoints },
  { "a model stops at its first NaN", first_nan },
  (vim.env.JUDGE_PYTHON or "") ~= "" and { "a PyTorch program stops at a line and is ended there", program } or nil,
}
local ok, why = xpcall(function()
  equal(vim.fn.exists(":DapContinue"), 2, "the command :DapContinue")
  dap.repl.open()
  vim.cmd("wincmd p")
  local version = vim.version()
  log:write(("Neovim %d.%d.%d\n"):format(version.major, version.minor, version.patch))
  for _, session in ipairs(sessions) do
    session[2]()
    equal(warnings, {}, "warnings")
    log:write(("  %s\n"):format(session[1]))
  end
end, function(message) return debug.traceback(tostring(message), 2) end)
if not ok then log:write(why, "\nThe console has:\n", console(), "\n") end
log:close()
vim.cmd(ok and "qall!" or "cquit 1")
