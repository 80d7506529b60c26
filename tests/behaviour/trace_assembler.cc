// SPDX-License-Identifier: MIT
#include "tests/behaviour/trace_assembler.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "decode/pt/packets/packet_writer.h"

namespace flowback::behaviour {
namespace {

using pt::IpPayload;

// One packet's words after its name. Unreadable words make the packet wrong.
class Arguments {
 public:
  Arguments(const BehaviourFile& file, Words words) : file_(file), words_(std::move(words)) {}

  uint64_t Number() {
    const auto value = Optional();
    if (!value) wrong_ = true;
    return value.value_or(0);
  }
  std::optional<uint64_t> Optional() {
    if (next_ == words_.size()) return std::nullopt;
    const auto value = file_.Resolve(words_[next_]);
    if (value) ++next_;
    return value;
  }
  bool Flag(std::string_view name) {
    if (next_ == words_.size() || words_[next_] != name) return false;
    ++next_;
    return true;
  }
  std::string Word() {
    if (next_ == words_.size()) {
      wrong_ = true;
      return {};
    }
    return words_[next_++];
  }
  bool Done() const { return next_ == words_.size(); }
  bool Right() const { return !wrong_ && Done(); }
  void SetWrong() { wrong_ = true; }

 private:
  const BehaviourFile& file_;
  Words words_;
  size_t next_ = 0;
  bool wrong_ = false;
};

class Assembler {
 public:
  explicit Assembler(const BehaviourFile& file) : file_(file) {}

  Result<std::vector<uint8_t>> Run() {
    for (const Line& line : file_.trace)
      for (auto word = line.words.begin(); word != line.words.end();) {
        const std::string name = *word++;
        const auto end = std::find_if(word, line.words.end(), IsPacket);
        if (!Packet(name, Arguments(file_, Words(word, end))))
          return Fail(ErrorCode::kUsage,
                      file_.path + ":" + std::to_string(line.number) + ": wrong packet " + name);
        word = end;
      }
    return writer_.Take();
  }

 private:
  using Write = void (Assembler::*)(Arguments&);

  // "tip/2" without its IPBytes.
  static std::string BaseName(const std::string& word) { return word.substr(0, word.find('/')); }
  static bool IsPacket(const std::string& word) { return Table().contains(BaseName(word)); }

  bool Packet(const std::string& name, Arguments arguments) {
    const auto entry = Table().find(BaseName(name));
    if (entry == Table().end()) return false;
    const size_t slash = name.find('/');
    ip_bytes_.reset();
    if (slash != std::string::npos) ip_bytes_ = static_cast<uint8_t>(name[slash + 1] - '0');
    (this->*entry->second)(arguments);
    return arguments.Right();
  }

  template <class P>
  void Bare(Arguments&) {
    writer_.Write(P{});
  }
  template <class P>
  void Ip(Arguments& a) {
    const auto address = a.Optional();
    writer_.Write(P{Payload(address)});
    if (!address) return;
    last_ip_ = *address;
    last_ip_known_ = true;
  }
  IpPayload Payload(std::optional<uint64_t> address) {
    if (!address) return {};
    pt::LastIp last;
    last.Set(last_ip_);
    if (!ip_bytes_)
      return last_ip_known_ ? last.Compress(*address) : pt::LastIp::Uncompressed(*address);
    const unsigned size = IpPayload::Size(*ip_bytes_);
    const uint64_t mask = size == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * size) - 1;
    return {.ip_bytes = *ip_bytes_, .payload = *address & mask};
  }
  void Psb(Arguments&) {
    writer_.Write(pt::Psb{});
    last_ip_ = 0;
    last_ip_known_ = true;
  }
  void Ovf(Arguments&) {
    writer_.Write(pt::Ovf{});
    last_ip_known_ = false;
  }
  void PsbPlus(Arguments& a) {
    Psb(a);
    if (!a.Done()) {
      writer_.Write(Exec(file_.mode));
      Ip<pt::Fup>(a);
    }
    writer_.Write(pt::PsbEnd{});
  }
  template <class P>
  void Tnt(Arguments& a) {
    const std::string text = a.Word();
    P tnt;
    for (const char c : text) {
      if (c != 't' && c != 'n' && c != '.') a.SetWrong();
      tnt.bits = tnt.bits << 1 | (c == 't' ? 1 : 0);
    }
    if (text.empty() || text.size() > P::kMaxCount) return a.SetWrong();
    tnt.count = static_cast<uint8_t>(text.size());
    writer_.Write(tnt);
  }
  static pt::ModeExec Exec(CodeMode mode) {
    return {.cs_l = mode == CodeMode::kX86_64, .cs_d = mode == CodeMode::kX86_32};
  }
  void ModeExec(Arguments& a) {
    const uint64_t bits = a.Number();
    pt::ModeExec mode{.cs_l = bits == 64, .cs_d = bits == 32};
    if (bits != 64 && bits != 32 && bits != 16) a.SetWrong();
    mode.iflag = a.Flag("if");
    writer_.Write(mode);
  }
  void ModeTsx(Arguments& a) {
    const std::string what = a.Word();
    if (what != "begin" && what != "commit" && what != "abort") a.SetWrong();
    writer_.Write(pt::ModeTsx{.in_transaction = what == "begin", .aborted = what == "abort"});
  }
  void Pip(Arguments& a) {
    const uint64_t cr3 = a.Number();
    writer_.Write(pt::Pip{.cr3 = cr3, .non_root = a.Flag("nr")});
  }
  void Vmcs(Arguments& a) { writer_.Write(pt::Vmcs{a.Number()}); }
  void Tsc(Arguments& a) { writer_.Write(pt::Tsc{a.Number()}); }
  void Tma(Arguments& a) {
    const auto ctc = static_cast<uint16_t>(a.Number());
    writer_.Write(pt::Tma{.ctc = ctc, .fast = static_cast<uint16_t>(a.Number())});
  }
  void Mtc(Arguments& a) { writer_.Write(pt::Mtc{static_cast<uint8_t>(a.Number())}); }
  void Cyc(Arguments& a) { writer_.Write(pt::Cyc{a.Number()}); }
  void Cbr(Arguments& a) { writer_.Write(pt::Cbr{static_cast<uint8_t>(a.Number())}); }
  void Mnt(Arguments& a) { writer_.Write(pt::Mnt{a.Number()}); }
  void Ptw(Arguments& a) {
    const uint64_t payload = a.Number();
    const bool wide = a.Flag("8");
    writer_.Write(pt::Ptw{
        .payload = payload, .bytes = static_cast<uint8_t>(wide ? 8 : 4), .ip = a.Flag("ip")});
  }
  void ExStop(Arguments& a) { writer_.Write(pt::ExStop{a.Flag("ip")}); }
  void Mwait(Arguments& a) {
    const auto hints = static_cast<uint32_t>(a.Number());
    writer_.Write(pt::Mwait{.hints = hints, .extensions = static_cast<uint32_t>(a.Number())});
  }
  void Pwre(Arguments& a) {
    const auto state = static_cast<uint8_t>(a.Number());
    const auto sub = static_cast<uint8_t>(a.Number());
    writer_.Write(pt::Pwre{.state = state, .sub_state = sub, .hardware = a.Flag("hw")});
  }
  void Pwrx(Arguments& a) {
    const auto last = static_cast<uint8_t>(a.Number());
    const auto deepest = static_cast<uint8_t>(a.Number());
    const bool interrupt = a.Flag("interrupt");
    const bool store = a.Flag("store");
    writer_.Write(pt::Pwrx{.last = last,
                           .deepest = deepest,
                           .interrupt = interrupt,
                           .store = store,
                           .autonomous = a.Flag("autonomous")});
  }
  void Bbp(Arguments& a) {
    const auto type = static_cast<uint8_t>(a.Number());
    const bool four = a.Flag("4");
    item_bytes_ = four ? 4 : 8;
    writer_.Write(pt::Bbp{.type = type, .four_byte = four});
  }
  void Bip(Arguments& a) {
    const auto id = static_cast<uint8_t>(a.Number());
    writer_.Write(pt::Bip{.id = id, .payload = a.Number(), .bytes = item_bytes_});
  }
  void Bep(Arguments& a) { writer_.Write(pt::Bep{a.Flag("ip")}); }
  void Cfe(Arguments& a) {
    const auto type = static_cast<uint8_t>(a.Number());
    const auto vector = static_cast<uint8_t>(a.Number());
    writer_.Write(pt::Cfe{.type = type, .vector = vector, .ip = a.Flag("ip")});
  }
  void Evd(Arguments& a) {
    const auto type = static_cast<uint8_t>(a.Number());
    writer_.Write(pt::Evd{.type = type, .payload = a.Number()});
  }
  void Trig(Arguments& a) {
    pt::Trig trig{.triggers = static_cast<uint8_t>(a.Number())};
    trig.mult = a.Flag("mult");
    trig.ip = a.Flag("ip");
    trig.icnt_valid = a.Flag("icnt");
    if (trig.icnt_valid) trig.icnt = static_cast<uint16_t>(a.Number());
    writer_.Write(trig);
  }
  void Raw(Arguments& a) {
    if (a.Done()) a.SetWrong();
    while (!a.Done()) {
      const auto byte = file_.Resolve("0x" + a.Word());
      if (!byte || *byte > 0xff) return a.SetWrong();
      writer_.Write(RawByte{static_cast<uint8_t>(*byte)});
    }
  }
  struct RawByte {
    uint8_t byte;
    void Encode(pt::ByteSink sink) const { sink.Put(byte); }
  };

  static const std::unordered_map<std::string, Write>& Table() {
    static const std::unordered_map<std::string, Write> table = {
        {"pad", &Assembler::Bare<pt::Pad>},
        {"psb", &Assembler::Psb},
        {"psb+", &Assembler::PsbPlus},
        {"psbend", &Assembler::Bare<pt::PsbEnd>},
        {"ovf", &Assembler::Ovf},
        {"tracestop", &Assembler::Bare<pt::TraceStop>},
        {"tnt", &Assembler::Tnt<pt::ShortTnt>},
        {"tnt64", &Assembler::Tnt<pt::LongTnt>},
        {"tip", &Assembler::Ip<pt::Tip>},
        {"tip.pge", &Assembler::Ip<pt::TipPge>},
        {"tip.pgd", &Assembler::Ip<pt::TipPgd>},
        {"fup", &Assembler::Ip<pt::Fup>},
        {"mode.exec", &Assembler::ModeExec},
        {"mode.tsx", &Assembler::ModeTsx},
        {"pip", &Assembler::Pip},
        {"vmcs", &Assembler::Vmcs},
        {"tsc", &Assembler::Tsc},
        {"tma", &Assembler::Tma},
        {"mtc", &Assembler::Mtc},
        {"cyc", &Assembler::Cyc},
        {"cbr", &Assembler::Cbr},
        {"mnt", &Assembler::Mnt},
        {"ptw", &Assembler::Ptw},
        {"exstop", &Assembler::ExStop},
        {"mwait", &Assembler::Mwait},
        {"pwre", &Assembler::Pwre},
        {"pwrx", &Assembler::Pwrx},
        {"bbp", &Assembler::Bbp},
        {"bip", &Assembler::Bip},
        {"bep", &Assembler::Bep},
        {"cfe", &Assembler::Cfe},
        {"evd", &Assembler::Evd},
        {"trig", &Assembler::Trig},
        {"raw", &Assembler::Raw}};
    return table;
  }

  const BehaviourFile& file_;
  pt::PacketWriter writer_;
  uint64_t last_ip_ = 0;
  bool last_ip_known_ = true;  // after OVF no IP is compressed
  std::optional<uint8_t> ip_bytes_;
  uint8_t item_bytes_ = 8;
};

}  // namespace

Result<std::vector<uint8_t>> AssembleTrace(const BehaviourFile& file) {
  return Assembler(file).Run();
}

}  // namespace flowback::behaviour
